"""The catalogue: the public, ordered list of items a model may speak about.

It is given by the person, never read off the ratings: an item that only one user rated would otherwise reveal
that user by being listed.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.catalogue.columns import no_column
from discreet.catalogue.feature_columns import FeatureNames, read_kinds
from discreet.catalogue.features import FeatureEncoder, ItemFeatures
from discreet.catalogue.ids import Id, IdArray, Ids, alike, as_ids, infer_ids, plain_integer, positions
from discreet.catalogue.tables import STANDARD_INPUT, TABLE_ERRORS, Scan, opened, scan_table
from discreet.errors import CatalogueInvalid
from discreet.privacy.costs import Carried

__all__ = ["Catalogue", "scan_items"]

_ID_COLUMNS = ("item", "item_id", "id")
# Below this many ids a dictionary answers faster than building a hash join does.
_FEW = 1024


class Catalogue:
    """An immutable, ordered list of distinct item ids, with titles where they are known.

    Parameters
    ----------
    ids
        The person's own ids, all whole numbers or all text.
    titles
        Optional title of each id; ids without one may be left out.
    features
        Optional features of the items, in the order of the ids: columns by name (a mapping or a frame, see
        `FeatureEncoder.learn`), a matrix of numbers, or `ItemFeatures`. Values may be missing.

    Attributes
    ----------
    ids
        In order: int64, or Python strings in an object array. Read-only.
    features
        Of the items, in their order; None without any, and in a model that was saved and loaded.
    feature_encoder
        What makes features of new items; it is saved with a model. None where no features were given.
    paid
        The run that found these items in ratings, and what that cost; None for a public list.

    Notes
    -----
    Two catalogues are equal when they list the same ids in the same order, whatever else is known about the items.

    **Privacy.** A catalogue appears in the released model as it stands. It is public, unless a run has found it in
    ratings: then `paid` says which run and what it cost, and every model over it carries that cost too.
    """

    def __init__(self, ids: Ids, titles: Mapping[Any, str] | None = None, features: Any = None) -> None:
        self._series = _listed(ids)
        self.ids: IdArray = self._series.to_numpy(writable=True)
        self.ids.flags.writeable = False
        self._titles = self._known_titles(titles or {})
        self.features = None if features is None else self._of_all_items(features)
        self.feature_encoder = None if self.features is None else self.features.encoder
        self.paid: Carried | None = None

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        column: str | None = None,
        features: FeatureNames | None = None,
        encoding: str | None = None,
    ) -> Catalogue:
        """Read a catalogue from CSV, TSV, Parquet, NDJSON, text with one id a line, or the folder of a model.

        Parameters
        ----------
        path
            The file; its extension says what it is. The folder of a model gives its catalogue, and with it what a run
            has paid to find it; its features are not there.
        column
            Column of the ids; by default the only column, or the one named item, item_id or id. A column
            named ``title`` gives the titles.
        features
            Columns that are features of the items: ``"genres,title"``, a list of names, or a mapping of names to
            kinds (None: guess). A kind may also follow a name after a colon, as in ``"authors:people"``.
        encoding
            Of a text file that is not UTF-8.
        """
        try:
            if Path(path).is_dir():
                if column is not None or features is not None:
                    raise CatalogueInvalid(
                        f"{path} is the folder of a model, which has no columns; give a file"
                    )
                return cls.from_json((Path(path) / "catalogue.json").read_text(encoding="utf-8"))
            names, typed, table, _ = scan_items(path, encoding)
            column = _id_column(names, column, path)
            kinds = {} if features is None else read_kinds(features, names)
            frame = table.select({column, *kinds} | ({"title"} & set(names))).collect()
            titles = frame["title"].cast(pl.String).to_list() if "title" in names else []
        except TABLE_ERRORS as error:
            raise CatalogueInvalid(f"the catalogue {path} cannot be read: {error}") from error
        if not typed:
            filled = frame[column].is_not_null().arg_true()
            frame = frame.head(int(filled[-1]) + 1 if len(filled) else 0)  # no blank lines at the end
            frame = frame.with_columns(infer_ids(frame[column]))
        ids = _of_one_kind(frame[column])
        described = ItemFeatures.learn(frame.select(*kinds), kinds) if kinds else None
        return cls(ids, dict(zip(ids.to_list(), titles, strict=False)), described)

    @classmethod
    def from_json(cls, text: str) -> Catalogue:
        """Read back what `to_json` wrote: ids, titles, the encoder of the features, and what was paid for it."""
        try:
            stored = json.loads(text)
            ids, titles = stored["ids"], stored["titles"]
            catalogue = cls(ids, None if titles is None else dict(zip(ids, titles, strict=True)))
            if "features" in stored:
                catalogue.feature_encoder = FeatureEncoder.from_json(json.dumps(stored["features"]))
            if "paid" in stored:
                catalogue.paid = Carried.model_validate_json(json.dumps(stored["paid"]))
            return catalogue
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise CatalogueInvalid(f"this is not a stored catalogue: {error}") from error

    def to_json(self) -> str:
        """One JSON object: ``ids``, and ``titles`` in the same order (``null`` where unknown).

        With features it has ``features`` as well: their encoder, which new items need, and not the matrix, which is
        of use in training alone. Where a run has found it, ``paid`` says which.
        """
        ids = self._series.to_list()
        stored: dict[str, Any] = {
            "ids": ids,
            "titles": [self._titles.get(identity) for identity in ids] if self._titles else None,
        }
        if self.feature_encoder is not None:
            stored["features"] = json.loads(self.feature_encoder.to_json())
        if self.paid is not None:
            stored["paid"] = self.paid.model_dump(mode="json")
        return json.dumps(stored, ensure_ascii=False)

    @property
    def titles(self) -> dict[Id, str]:
        """Title of each id that has one."""
        return dict(self._titles)

    def found_by(self, paid: Carried) -> Catalogue:
        """The same items, with a note of the run that found them."""
        noted = copy.copy(self)
        noted.paid = paid
        return noted

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the ids in their order, as JSON: who has the same digest means the same item by a number."""
        return hashlib.sha256(json.dumps(self.ids.tolist()).encode()).hexdigest()

    def extended(self, ids: Ids, titles: Mapping[Any, str] | None = None) -> Catalogue:
        """These items followed by new ones, with the same encoder of features; the matrix is left behind."""
        new = Catalogue(ids, titles)
        known = np.flatnonzero(self.index(new._series) >= 0)
        if len(known):
            raise CatalogueInvalid(
                f"{new.ids[known[0]]!r} is already in the catalogue ({len(known)} of the {len(new)} new items are); "
                "add new items only"
            )
        written = alike(new._series, self._series)
        if written.has_nulls():
            stranger = new.ids[int(written.is_null().arg_max() or 0)]
            raise CatalogueInvalid(f"the ids of the catalogue are whole numbers, and {stranger!r} is none")
        both = Catalogue(pl.concat([self._series, written]))
        both._titles = self._titles | both._known_titles(new._titles)
        both.feature_encoder, both.paid = self.feature_encoder, self.paid
        return both

    def index(self, ids: Ids) -> npt.NDArray[np.int64]:
        """Position of each id in the catalogue, -1 where it is not listed."""
        if not isinstance(ids, pl.Series | np.ndarray):
            ids = list(ids)
        if len(ids) >= _FEW:
            try:
                return positions(as_ids(ids), self._series)
            except TypeError:  # a mixture of kinds: some may still be known
                pass
        found = (self._positions.get(self._key(identity), -1) for identity in ids)
        return np.fromiter(found, dtype=np.int64, count=len(ids))

    def __contains__(self, identity: object) -> bool:
        return self._key(identity) in self._positions

    def __len__(self) -> int:
        return len(self._series)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Catalogue):
            return NotImplemented
        if self is other:
            return True
        return self._series.dtype == other._series.dtype and np.array_equal(self.ids, other.ids)

    def __hash__(self) -> int:
        return hash((len(self), self._series[0], self._series[-1]))

    def __repr__(self) -> str:
        return f"Catalogue({len(self)} items, {self._series[0]!r} to {self._series[-1]!r})"

    @cached_property
    def _positions(self) -> dict[Id | None, int]:
        return {identity: place for place, identity in enumerate(self._series.to_list())}

    @cached_property
    def _text(self) -> bool:
        return self._series.dtype == pl.String

    def _key(self, identity: object) -> Id | None:
        """The id as this catalogue would write it, or None if it could never be listed."""
        if type(identity) is str and self._text:  # the usual case, many times a request
            return identity
        if isinstance(identity, bool | np.bool_):
            return None
        if isinstance(identity, float | np.floating) and float(identity).is_integer():
            identity = int(identity)
        if isinstance(identity, int | np.integer):
            return str(int(identity)) if self._text else int(identity)
        if isinstance(identity, str):
            return identity if self._text else plain_integer(identity)
        return None

    def _of_all_items(self, features: Any) -> ItemFeatures:
        described = features if isinstance(features, ItemFeatures) else ItemFeatures.learn(features)
        if described.n_items != len(self):
            raise CatalogueInvalid(
                f"there are features of {described.n_items} items in a catalogue of {len(self)}; give a row for each "
                "id, in the order of the ids"
            )
        return described

    def _known_titles(self, titles: Mapping[Any, str | None]) -> dict[Id, str]:
        keyed = {self._key(identity): title for identity, title in titles.items() if title is not None}
        strangers = [identity for identity in keyed if identity not in self._positions]
        if strangers:
            raise CatalogueInvalid(f"a title is given for {strangers[0]!r}, which is not in the catalogue")
        return {identity: str(title) for identity, title in keyed.items() if identity is not None}


def _listed(ids: Ids) -> pl.Series:
    """Distinct ids of one kind; refuses what is no list of ids but could be taken for one."""
    if (
        isinstance(ids, str | bytes | os.PathLike | Mapping)
        or hasattr(ids, "columns")
        or not isinstance(ids, Iterable)
    ):
        raise CatalogueInvalid(
            f"a catalogue is a list of item ids, not {type(ids).__name__}; a file is read with "
            'discreet.Catalogue.from_file(path), of a frame give one column (frame["item"]), and titles apart: '
            "discreet.Catalogue(list(titles), titles)"
        )
    listed = _of_one_kind(ids).rename("id").rechunk()
    if len(listed) == 0:
        raise CatalogueInvalid("the catalogue is empty; list at least one item")
    missing = (listed.is_null() if listed.dtype != pl.String else listed.fill_null("") == "").arg_true()
    if len(missing):
        raise CatalogueInvalid(
            f"row {missing[0] + 1} of the catalogue has no id; fill it in or remove the row"
        )
    repeated = (~listed.is_first_distinct()).arg_true()
    if len(repeated):
        raise CatalogueInvalid(
            f"row {repeated[0] + 1} of the catalogue repeats the id {listed[repeated[0]]!r}; list every item once"
        )
    return listed


def _of_one_kind(ids: Ids) -> pl.Series:
    try:
        return as_ids(ids)
    except TypeError as error:
        raise CatalogueInvalid(f"the catalogue cannot be used: {error}") from error


def _id_column(names: list[str], column: str | None, path: str | os.PathLike[str]) -> str:
    if column is not None:
        if column not in names:
            raise CatalogueInvalid(f"the catalogue {path}: {no_column(column, names)}")
        return column
    if len(names) == 1:
        return names[0]
    for name in _ID_COLUMNS:
        if name in names:
            return name
    listed = ", ".join(names)
    raise CatalogueInvalid(
        f"{path} has the columns {listed}, none of them item, item_id or id; name the column"
    )


def scan_items(path: str | os.PathLike[str], encoding: str | None = None) -> Scan:
    """Open a table of items, or of one person's history: public, so that the whole of it may decide how a row is read.

    NDJSON has types, and a text file (``.txt``) is a list of ids. What is in UTF-8 is read so, whatever encoding is
    named; ``.dat`` files that are not are of the time before UTF-8 was usual.
    """
    if os.fspath(path) == STANDARD_INPUT:
        return scan_table(path, encoding=encoding)
    kind, source = opened(Path(path))
    if kind in (".ndjson", ".jsonl"):
        table = pl.scan_ndjson(source, infer_schema_length=None)
        return Scan(table.collect_schema().names(), True, table)
    if encoding is not None or kind in (".dat", ".txt"):
        content = source.read_bytes() if isinstance(source, Path) else source.getvalue()
        try:
            text = content.decode()
        except UnicodeDecodeError:
            text, encoding = "\0", encoding or ("latin-1" if kind == ".dat" else None)
        encoding = encoding if "\0" in text else None
        if kind == ".txt":
            lines = [line.strip() or None for line in content.decode(encoding or "utf-8").split("\n")]
            return Scan(["item"], False, pl.LazyFrame({"item": lines}, schema={"item": pl.String}))
    return scan_table(path, encoding=encoding)
