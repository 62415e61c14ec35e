"""Tables of ratings and of items: CSV, NDJSON, text and Parquet, plain and compressed."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl

from discreet import Catalogue, Ratings
from tests.hostile.byte_mutations import damage
from tests.hostile.json_mutations import mutate_json
from tests.hostile.kind import Kind, Outcome

__all__ = ["CatalogueFile", "RatingsFile", "RatingsParquet"]

ROWS = [
    (user, f"film {item}", 1 + (user * item) % 5) for user in range(1, 6) for item in range(user, user + 4)
]
FRAME = pl.DataFrame(ROWS, schema=["user", "item", "stars"], orient="row")
ITEMS = pl.DataFrame(
    {
        "item": [f"film {number}" for number in range(9)],
        "title": [f'The "{number}", again ({1990 + number})' for number in range(9)],
        "genres": ["Drama|War", "Drama", "War", "", "Comedy|War", "Comedy", "Drama", "War", "Western"],
        "year": [1990, 1995, None, 2003, 2010, 2011, 2011, 1987, 1955],
    }
)
FIELDS = (
    *("", " ", "0", "6", "-1", "nan", "NaN", "inf", "-inf", "1e999", "1e-999", "5.0000000001", "3,5", "0x3", "٣"),
    "1_0",
    *("007", "+3", "9" * 30, "9" * 400, "x" * 70_000, '"', '""', '"a', 'a"b', "'", "\\", "\0", "\r", "a\nb", "null"),
    *("None", "True", "../../etc/passwd", "=cmd()", "é", "e\u0301", "\u202e", "\ufeff", "film 1 ", " film 1"),
)  # fmt: skip
# One column of each type that polars writes; an attacker is free to choose.
TYPED: tuple[pl.Series, ...] = (
    *(pl.Series([1, 2, 3], dtype=kind) for kind in (pl.Int8, pl.UInt64, pl.Float32, pl.Int128)),
    *(pl.Series([None, None, None]), pl.Series([True, False, None]), pl.Series([b"a", b"\xff", b""])),
    *(pl.Series([2**63, 2**64 - 1, 0], dtype=pl.UInt64), pl.Series([1.0, float("nan"), float("inf")])),
    *(pl.Series([date(2020, 1, 1)] * 3), pl.Series([[1], [], None]), pl.Series([{"a": 1}] * 3)),
    *(pl.Series(["a", "b", "a"], dtype=pl.Categorical), pl.Series(["1", "2", "3"], dtype=pl.Enum(["1", "2", "3"]))),
    *(pl.Series(["1.5", "2.5", "3.5"]).cast(pl.Decimal(10, 2)), pl.Series([1, 2, 3]).cast(pl.Duration("ms"))),
    *(pl.Series(["", "x", None]), pl.Series([-0.0, 1e300, 5e-324])),
    *(pl.Series([[1.0, 2.0]] * 3, dtype=pl.Array(pl.Float64, 2)),),
)  # fmt: skip


def spoil_csv(draw: Random, text: str) -> bytes:
    """A table with something wrong in a field, a row, the header or the encoding."""
    rows = [line.split(",") for line in text.rstrip("\n").split("\n")]
    for _ in range(draw.choice((1, 1, 2, 5))):
        row = draw.choice((0, draw.randrange(len(rows)), draw.randrange(len(rows))))
        kind = draw.randrange(9)
        if kind < 4 and rows[row]:
            rows[row][draw.randrange(len(rows[row]))] = draw.choice(FIELDS)
        elif kind == 4:
            rows[row].insert(0, draw.choice(FIELDS))
        elif kind == 5:
            rows[row] = rows[row][:-1] or [""]
        elif kind == 6:
            rows.insert(row, [])
        elif kind == 7:
            rows.insert(row, list(draw.choice(rows)))
        elif len(rows[row]) < 50:
            rows[row] *= draw.choice((2, 300))
    joined = draw.choice((",", ",", ",", ";", "\t")).join
    whole = draw.choice(("\n", "\n", "\n", "\r\n", "\r")).join(map(joined, rows)) + draw.choice(
        ("", "\n", "\n\n\n")
    )
    return whole.encode(draw.choice(("utf-8",) * 12 + ("utf-8-sig", "utf-16", "utf-7")))


def spoil_lines(draw: Random, text: str) -> bytes:
    """NDJSON with something wrong in a line."""
    lines = [line.encode() for line in text.strip().split("\n")]
    for _ in range(draw.choice((1, 1, 3))):
        place = draw.randrange(len(lines))
        lines[place] = mutate_json(draw, text.split("\n")[place].encode())[:100_000]
    return b"\n".join(lines)


def packed(draw: Random, suffix: str, body: bytes) -> tuple[str, bytes]:
    """Now and then compressed, damaged or a bomb."""
    kind = draw.randrange(30)
    if kind > 2:
        return suffix, body
    if kind == 0:
        return f"{suffix}.gz", gzip.compress(body, 1)
    if kind == 1:
        return f"{suffix}.{draw.choice(('gz', 'zst'))}", damage(draw, gzip.compress(body, 1))
    return f"{suffix}.gz", body


class RatingsFile(Kind):
    """Ratings in a table of text: refused, or whole and within the public range and the catalogue."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._catalogue = Catalogue(ITEMS["item"])
        self._csv, self._lines = FRAME.write_csv(), FRAME.write_ndjson()
        path = _written(folder, ".csv", self._csv.encode())
        self._genuine = [_arrays(read(path, listed)) for listed in (None, self._catalogue)]

    def attempt(self, draw: Random) -> Outcome:
        """Spoil one file."""
        lines = draw.random() < 0.3
        text, suffix = (self._lines, ".ndjson") if lines else (self._csv, ".csv")
        spoil: Callable[[Random, str], bytes] = spoil_lines if lines else spoil_csv
        body = damage(draw, text.encode()) if draw.random() < 0.3 else spoil(draw, text)
        path = _written(self.folder, *packed(draw, suffix, body))
        listed = draw.choice((None, self._catalogue))
        ratings = read(path, listed, unknown_items=draw.choice(("error", "drop")), rated=draw.random() < 0.8)
        check_ratings(ratings)
        return "same" if _arrays(ratings) == self._genuine[listed is not None] else "other"


class RatingsParquet(Kind):
    """Ratings in Parquet, damaged or with columns of any type."""

    may_abort = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._genuine = [
            _parquet(FRAME, compression=name) for name in ("zstd", "snappy", "uncompressed", "gzip")
        ]
        self._arrays = _arrays(read(_written(folder, ".parquet", self._genuine[0]), None))

    def attempt(self, draw: Random) -> Outcome:
        """Spoil one file."""
        if draw.random() < 0.8:
            body = damage(draw, draw.choice(self._genuine))
        else:
            columns = {name: draw.choice(TYPED).alias(name) for name in FRAME.columns}
            body = _parquet(pl.DataFrame(columns), compression="uncompressed")
        ratings = read(_written(self.folder, ".parquet", body), None, rated=draw.random() < 0.8)
        check_ratings(ratings)
        return "same" if _arrays(ratings) == self._arrays else "other"


class CatalogueFile(Kind):
    """Items with titles and features, in every form."""

    may_abort = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._csv, self._lines = ITEMS.write_csv(), ITEMS.write_ndjson()
        self._text = "\n".join(ITEMS["item"])
        self._parquet = _parquet(ITEMS)
        self._stored = Catalogue(ITEMS["item"], features=ITEMS.select("genres", "year")).to_json().encode()
        self._genuine = Catalogue(ITEMS["item"])

    def attempt(self, draw: Random) -> Outcome:
        """Spoil one file."""
        catalogue = self._read(draw)
        assert 0 < len(catalogue) == len(set(catalogue.ids.tolist()))
        assert np.array_equal(catalogue.index(catalogue.ids), np.arange(len(catalogue)))
        again = Catalogue.from_json(catalogue.to_json())
        assert again == catalogue
        assert again.digest == catalogue.digest
        assert again.titles == catalogue.titles
        if catalogue.features is not None:
            assert np.isfinite(catalogue.features.matrix.data).all()
            assert again.feature_encoder == catalogue.feature_encoder
        return "same" if catalogue == self._genuine else "other"

    def _read(self, draw: Random) -> Catalogue:
        kind = draw.randrange(6)
        if kind == 0:
            return Catalogue.from_json(mutate_json(draw, self._stored).decode("utf-8", "replace"))
        if kind == 1:
            columns = {name: draw.choice(TYPED).alias(name) for name in ITEMS.columns}
            body = draw.choice((damage(draw, self._parquet), _parquet(pl.DataFrame(columns))))
            path = _written(self.folder, ".parquet", body)
        elif kind == 2:
            path = _written(self.folder, ".ndjson", spoil_lines(draw, self._lines))
        elif kind == 3:
            path = _written(self.folder, ".txt", damage(draw, self._text.encode()))
        else:
            body = damage(draw, self._csv.encode()) if draw.random() < 0.3 else spoil_csv(draw, self._csv)
            path = _written(self.folder, *packed(draw, ".csv", body))
        features = draw.choice(
            (None, None, "genres,title,year", "title:text,genres:people,year:category", "year:embedding")
        )
        return Catalogue.from_file(path, features=None if path.suffix == ".txt" else features)


def read(
    path: Path, catalogue: Catalogue | None, *, rated: bool = True, unknown_items: Any = "error"
) -> Ratings:
    """As ``discreet train`` does."""
    scale: dict[str, Any] = {"rating": "stars", "rating_range": (1.0, 5.0)} if rated else {}
    return Ratings.from_file(
        path, user="user", item="item", catalogue=catalogue, unknown_items=unknown_items, **scale
    )


def check_ratings(ratings: Ratings) -> None:
    """All that training takes for granted."""
    low, high = ratings.rating_range or (1.0, 1.0)
    n_items = len(ratings.catalogue.ids if ratings.catalogue is not None else ratings.provisional_ids)
    assert ratings.indptr[0] == 0
    assert ratings.indptr[-1] == len(ratings.items) == len(ratings.values)
    assert (np.diff(ratings.indptr) >= 0).all()
    assert len(ratings.indptr) == len(ratings.user_ids) + 1 == len(set(ratings.user_ids.tolist())) + 1
    assert ((ratings.items >= 0) & (ratings.items < n_items)).all()
    assert ((ratings.values >= low) & (ratings.values <= high)).all()
    rows = np.repeat(np.arange(len(ratings.user_ids)), np.diff(ratings.indptr))
    keys = rows * n_items + ratings.items
    assert (np.diff(keys) > 0).all(), "an item twice, or out of order"


def _arrays(ratings: Ratings) -> str:
    parts = (ratings.indptr, ratings.items, ratings.values, ratings.user_ids)
    return json.dumps([part.tolist() for part in parts])


def _written(folder: Path, suffix: str, body: bytes) -> Path:
    path = folder / f"table{suffix}"
    path.write_bytes(body)
    return path


def _parquet(frame: pl.DataFrame, **options: Any) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, **options)
    return buffer.getvalue()
