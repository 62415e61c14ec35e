"""Files as people have them: packed, in another encoding, with other marks, from standard input."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from discreet import Catalogue, Ratings, RatingsInvalid
from discreet.catalogue.columns import Columns, TextFormat
from discreet.data import prepare
from discreet.data.rules import RowRules

TEXT = "who;what;stars\nzoë;é;3,5\nal;y;4\nal;é;1\n"
READING: dict[str, Any] = {"user": "who", "item": "what", "rating": "stars", "rating_range": (1, 5)}
CATALOGUE = Catalogue(["é", "y"])


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "r.csv": lambda content: content,
    "r.csv.gz": gzip.compress,
    "r.csv.zst": lambda content: pa.compress(content, codec="zstd", asbytes=True),
}


def assert_as_expected(ratings: Ratings) -> None:
    assert ratings.history("zoë") == {"é": 3.5}
    assert ratings.history("al") == {"y": 4.0, "é": 1.0}
    assert ratings.n_users == 2


@pytest.mark.parametrize("encoding", [None, "latin-1", "utf-16"])
@pytest.mark.parametrize("name", PACKINGS)
def test_packed_and_encoded_files_are_the_same_ratings(
    tmp_path: Path, name: str, encoding: str | None
) -> None:
    path = tmp_path / name
    path.write_bytes(PACKINGS[name](TEXT.encode(encoding or "utf-8")))
    if name == "r.csv.zst" and encoding is not None:
        with pytest.raises(RatingsInvalid, match=r"under \.zst only CSV in UTF-8 is read; unpack r"):
            Ratings.from_file(path, encoding=encoding, catalogue=CATALOGUE, **READING)
        return
    assert_as_expected(Ratings.from_file(path, encoding=encoding, catalogue=CATALOGUE, **READING))
    reading: Any = {"rating_range": (1, 5), "catalogue": CATALOGUE, "rules": RowRules()}
    columns, text = Columns("who", "what", "stars"), TextFormat(encoding=encoding)
    if name in ("r.csv", "r.csv.gz", "r.csv.zst") and encoding is None:
        (block,) = prepare(str(path), tmp_path / "blocks", columns, **reading, text=text).blocks(
            with_ids=True
        )
        assert_as_expected(block)
    else:
        with pytest.raises(RatingsInvalid, match="cannot be grouped on disk as it is; unpack it"):
            prepare(str(path), tmp_path / "blocks", columns, **reading, text=text)


def test_standard_input_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(TEXT.encode())))
    assert_as_expected(Ratings.from_file("-", **READING))
    lines = b'{"who": "a", "what": "x", "stars": 2}\n'
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(lines)))
    assert Ratings.from_file("-", **READING).history("a") == {"x": 2.0}
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"")))
    with pytest.raises(RatingsInvalid, match="standard input cannot be read"):
        Ratings.from_file("-", **READING)


def test_a_folder_of_packed_files_is_one_table(tmp_path: Path) -> None:
    head, *rows = TEXT.splitlines(keepends=True)
    for number, row in enumerate(rows):
        (tmp_path / f"{number}.csv.gz").write_bytes(gzip.compress((head + row).encode("latin-1")))
    assert_as_expected(Ratings.from_file(tmp_path, encoding="latin-1", **READING))


def test_a_catalogue_in_utf_8_stays_so_beside_ratings_in_another_encoding(tmp_path: Path) -> None:
    for encoding in ("utf-8", "latin-1"):
        (tmp_path / "items.csv").write_bytes("id;title\n1;Café\n".encode(encoding))
        read = Catalogue.from_file(tmp_path / "items.csv", encoding="latin-1")
        assert read.titles == {1: "Café"}


@pytest.mark.parametrize(
    ("name", "content", "asked", "message"),
    [
        ("r.csv", TEXT.encode("latin-1"), {}, "needs its encoding"),
        ("r.csv", TEXT.encode("latin-1"), {"encoding": "ascii"}, "not written in ascii"),
        ("r.csv", TEXT.encode(), {"encoding": "klingon"}, "no encoding 'klingon'"),
        ("r.csv", TEXT.encode(), {"encoding": "hex"}, "no encoding 'hex'"),
        ("r.csv", TEXT.encode(), {"separator": ""}, "separator is empty"),
        ("r.csv.zip", b"PK", {}, "unpack it first"),
        (
            "r.csv.gz",
            gzip.compress(TEXT.encode("latin-1"))[:-9],
            {"encoding": "latin-1"},
            "cannot be unpacked",
        ),
        ("r.ndjson", b"{}", {"separator": ";"}, "separator is for .csv"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(
    tmp_path: Path, name: str, content: bytes, asked: dict[str, Any], message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RatingsInvalid) as caught:
        Ratings.from_file(tmp_path / name, **READING, **asked)
    assert message in str(caught.value)
