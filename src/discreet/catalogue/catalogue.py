"""The catalogue: the public, ordered list of items a model may speak about.

It is given by the person, never read off the ratings: an item that only one user rated would otherwise reveal
that user by being listed. The rules for ids live here too, because both sides of the gate follow them:

* an id is a whole number or a text; a column holds one kind;
* whole numbers of any width become 64-bit integers; where one of them does not fit, the whole column is kept
  as text (decimal digits), so nothing is ever rounded or wrapped;
* a number and its plain decimal text name the same thing (``7`` and ``"7"``, but not ``"07"``), because files
  without types (CSV, the keys of a JSON object) cannot tell the two apart.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.catalogue.feature_columns import FeatureNames, read_kinds
from discreet.catalogue.features import FeatureEncoder, ItemFeatures
from discreet.catalogue.names import no_column
from discreet.catalogue.tables import TABLE_ERRORS, scan_table
from discreet.errors import CatalogueInvalid
from discreet.privacy.carried import Carried

__all__ = [
    "Catalogue",
    "Id",
    "IdArray",
    "Ids",
    "as_ids",
    "infer_ids",
    "positions",
]

Id: TypeAlias = int | str
Ids: TypeAlias = Iterable[Id] | npt.NDArray[Any] | pl.Series
IdArray: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.object_]

_WHOLE_FLOAT_LIMIT = 2.0**53
_ID_COLUMNS = ("item", "item_id", "id")
# Below this many ids a dictionary answers faster than building a hash join does.
_FEW = 1024


def as_ids(values: Ids) -> pl.Series:
    """Turn ids of any width or container into a series of 64-bit integers or of text; missing ones stay null.

    Raises
    ------
    TypeError
        When the values are neither whole numbers nor text, or a mixture of the two.
    """
    series = values if isinstance(values, pl.Series) else _series(values)
    dtype = series.dtype
    if dtype == pl.Object:
        series = _series(series.to_list())
        dtype = series.dtype
    if dtype == pl.String:
        return series
    if dtype in (pl.Categorical, pl.Enum, pl.Null):
        return series.cast(pl.String)
    if dtype.is_float():
        return _whole(series)
    if dtype.is_integer() or (isinstance(dtype, pl.Decimal) and dtype.scale == 0):
        narrow = series.cast(pl.Int64, strict=False)
        return narrow if narrow.null_count() == series.null_count() else series.cast(pl.String)
    raise TypeError(f"ids must be whole numbers or text, not {dtype}; convert them to text first")


def infer_ids(text: pl.Series) -> pl.Series:
    """Ids from a file without types: integers if every one is written as a plain 64-bit integer, else text.

    ``"007"`` is not plain: reading it as 7 would merge it with ``"7"`` and give back an id that was never written.
    """
    numbers = text.cast(pl.Int64, strict=False)
    if numbers.null_count() > text.null_count() or not (numbers.cast(pl.String) == text).all():
        return text
    return numbers


def positions(ids: pl.Series, among: pl.Series) -> npt.NDArray[np.int64]:
    """Where each of `ids` stands in the distinct ids `among`; -1 where it does not. Both made by `as_ids`."""
    table = pl.DataFrame({"id": among, "position": np.arange(len(among))})
    wanted = pl.DataFrame({"id": _in_kind_of(ids, among)})
    found = wanted.join(table, on="id", how="left", maintain_order="left")["position"].fill_null(-1)
    return found.to_numpy(writable=True)


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

    Notes
    -----
    Two catalogues are equal when they list the same ids in the same order, whatever else is known about the items.

    **Privacy.** A catalogue appears in the released model as it stands. It is public, unless a run has found it in
    ratings: then `paid` says which run and what it cost, and every model over it carries that cost too.
    """

    def __init__(self, ids: Ids, titles: Mapping[Any, str] | None = None, features: Any = None) -> None:
        _refuse_other_things(ids)
        self._series = _of_one_kind(ids).rename("id").rechunk()
        _refuse_unusable(self._series)
        self._ids: IdArray = self._series.to_numpy(writable=True)
        self._ids.flags.writeable = False
        self._titles = self._known_titles(titles or {})
        self._features = None if features is None else self._of_all_items(features)
        self._encoder = None if self._features is None else self._features.encoder
        self._paid: Carried | None = None

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
                return cls._of_model(Path(path), plain=column is None and features is None)
            if encoding is not None and _is_utf_8(path):
                encoding = None
            names, typed, table, _ = scan_table(path, encoding=encoding)
            column = _id_column(names, column, path)
            kinds = {} if features is None else read_kinds(features, names)
            frame = table.select({column, *kinds} | ({"title"} & set(names))).collect()
            titles = frame["title"].cast(pl.String).to_list() if "title" in names else []
        except TABLE_ERRORS as error:
            raise CatalogueInvalid(f"the catalogue {path} cannot be read: {error}") from error
        ids = frame[column]
        if not typed:
            while len(ids) and ids[-1] is None:  # blank lines at the end
                ids = ids[:-1]
            ids = infer_ids(ids)
        ids = _of_one_kind(ids)
        described = ItemFeatures.learn(frame.select(*kinds).head(len(ids)), kinds) if kinds else None
        return cls(ids, dict(zip(ids.to_list(), titles, strict=False)), described)

    @classmethod
    def _of_model(cls, folder: Path, *, plain: bool) -> Catalogue:
        if not plain:
            raise CatalogueInvalid(
                f"{folder} is the folder of a model, which has no columns; give the file that its catalogue came from"
            )
        return cls.from_json((folder / "catalogue.json").read_text(encoding="utf-8"))

    @classmethod
    def from_json(cls, text: str) -> Catalogue:
        """Read back what `to_json` wrote: ids, titles, the encoder of the features, and what was paid for it."""
        try:
            stored = json.loads(text)
            ids, titles = stored["ids"], stored["titles"]
            catalogue = cls(ids, None if titles is None else dict(zip(ids, titles, strict=True)))
            if "features" in stored:
                catalogue._encoder = FeatureEncoder.from_json(json.dumps(stored["features"]))
            if "paid" in stored:
                catalogue._paid = Carried.model_validate_json(json.dumps(stored["paid"]))
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
        if self._encoder is not None:
            stored["features"] = json.loads(self._encoder.to_json())
        if self._paid is not None:
            stored["paid"] = self._paid.model_dump(mode="json")
        return json.dumps(stored, ensure_ascii=False)

    @property
    def ids(self) -> IdArray:
        """The ids in order: int64, or Python strings in an object array. Read-only."""
        return self._ids

    @property
    def titles(self) -> dict[Id, str]:
        """Title of each id that has one."""
        return dict(self._titles)

    @property
    def features(self) -> ItemFeatures | None:
        """Features of the items, in their order; None without any, and in a model that was saved and loaded."""
        return self._features

    @property
    def feature_encoder(self) -> FeatureEncoder | None:
        """What makes features of new items; it is saved with a model. None where no features were given."""
        return self._encoder

    @property
    def paid(self) -> Carried | None:
        """The run that found these items in ratings, and what that cost; ``None`` for a public list."""
        return self._paid

    def found_by(self, paid: Carried) -> Catalogue:
        """The same items, with a note of the run that found them."""
        noted = copy.copy(self)
        noted._paid = paid
        return noted

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the ids in their order, as JSON: who has the same digest means the same item by a number."""
        return hashlib.sha256(json.dumps(self._ids.tolist()).encode()).hexdigest()

    def extended(self, ids: Ids, titles: Mapping[Any, str] | None = None) -> Catalogue:
        """These items followed by new ones, with the same encoder of features; the matrix is left behind.

        Parameters
        ----------
        ids
            Of the kind that the catalogue has, none of them in it.
        titles
            Of new items; those without one may be left out.

        Raises
        ------
        CatalogueInvalid
            Naming the id that cannot be added.
        """
        new = Catalogue(ids)
        known = np.flatnonzero(self.index(new._series) >= 0)
        if len(known):
            raise CatalogueInvalid(
                f"{new.ids[known[0]]!r} is already in the catalogue ({len(known)} of the {len(new)} new items are); "
                "add new items only"
            )
        alike = _in_kind_of(new._series, self._series)
        if alike.has_nulls():
            raise CatalogueInvalid(
                f"the ids of the catalogue are whole numbers, and {new.ids[int(alike.is_null().arg_max() or 0)]!r} is "
                "none"
            )
        both = Catalogue(pl.concat([self._series, alike.rename("id")]))
        both._titles = self._titles | both._new_titles(titles or {}, len(self))
        both._encoder, both._paid = self._encoder, self._paid
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
        return self._series.dtype == other._series.dtype and np.array_equal(self._ids, other._ids)

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
            return identity if self._text else _plain_integer(identity)
        return None

    def _of_all_items(self, features: Any) -> ItemFeatures:
        described = features if isinstance(features, ItemFeatures) else ItemFeatures.learn(features)
        if described.n_items != len(self):
            raise CatalogueInvalid(
                f"there are features of {described.n_items} items in a catalogue of {len(self)}; give a row for each "
                "id, in the order of the ids"
            )
        return described

    def _new_titles(self, titles: Mapping[Any, str | None], start: int) -> dict[Id, str]:
        """Titles of the items from a position on; the old ones have theirs."""
        named = self._known_titles(titles)
        for identity in named:
            if self._positions[identity] < start:
                raise CatalogueInvalid(f"a title is given for {identity!r}, which is none of the new items")
        return named

    def _known_titles(self, titles: Mapping[Any, str | None]) -> dict[Id, str]:
        keyed = {self._key(identity): title for identity, title in titles.items() if title is not None}
        strangers = [identity for identity in keyed if identity not in self._positions]
        if strangers:
            raise CatalogueInvalid(f"a title is given for {strangers[0]!r}, which is not in the catalogue")
        return {identity: str(title) for identity, title in keyed.items() if identity is not None}


def _series(values: Ids) -> pl.Series:
    listed: Any = values if isinstance(values, np.ndarray) and values.dtype != object else list(values)
    try:
        return pl.Series(listed)
    except (OverflowError, TypeError):
        # Python integers of very different sizes have no common column type; anything else is a mixture.
        if all(value is None or type(value) is int for value in listed):
            return pl.Series([None if value is None else str(value) for value in listed])
        raise TypeError("some ids are numbers and some are not; convert them all to text first") from None


def _whole(series: pl.Series) -> pl.Series:
    """Floats that are really integers, as a frame with missing values delivers them."""
    series = series.fill_nan(None)
    known = series.drop_nulls()
    if not ((known.abs() <= _WHOLE_FLOAT_LIMIT) & (known == known.round())).all():
        raise TypeError("ids must be whole numbers or text, not fractions; convert them to text first")
    return series.cast(pl.Int64)


def _in_kind_of(ids: pl.Series, model: pl.Series) -> pl.Series:
    if ids.dtype == model.dtype:
        return ids
    if model.dtype == pl.String:
        return ids.cast(pl.String)
    numbers = ids.cast(pl.Int64, strict=False)
    plain = numbers.cast(pl.String) == ids
    return numbers.set(~plain.fill_null(False), None)


def _plain_integer(text: str) -> int | None:
    try:
        number = int(text)
    except ValueError:
        return None
    return number if str(number) == text else None


def _refuse_other_things(ids: object) -> None:
    """Refuse what is no list of ids but could be taken for one, and say what to give instead."""
    if isinstance(ids, str | bytes | os.PathLike):
        raise CatalogueInvalid(
            f"a catalogue is a list of item ids, not {ids!r}; a file is read with discreet.Catalogue.from_file(path)"
        )
    if isinstance(ids, Mapping):
        raise CatalogueInvalid(
            "a catalogue is a list of item ids; give titles apart, as in discreet.Catalogue(list(titles), titles)"
        )
    if hasattr(ids, "columns"):
        raise CatalogueInvalid(
            "a catalogue is a list of item ids, not a frame; give one of its columns, as in "
            'discreet.Catalogue(frame["item"])'
        )
    if not isinstance(ids, Iterable):
        raise CatalogueInvalid(f"a catalogue is a list of item ids, not {type(ids).__name__} {ids!r}")


def _of_one_kind(ids: Ids) -> pl.Series:
    try:
        return as_ids(ids)
    except TypeError as error:
        raise CatalogueInvalid(f"the catalogue cannot be used: {error}") from error


def _refuse_unusable(ids: pl.Series) -> None:
    if len(ids) == 0:
        raise CatalogueInvalid("the catalogue is empty; list at least one item")
    missing = ids.is_null() if ids.dtype != pl.String else ids.fill_null("") == ""
    if missing.any():
        row = int(missing.to_numpy().argmax()) + 1
        raise CatalogueInvalid(f"row {row} of the catalogue has no id; fill it in or remove the row")
    repeated = ~ids.is_first_distinct()
    if repeated.any():
        row = int(repeated.to_numpy().argmax()) + 1
        raise CatalogueInvalid(
            f"row {row} of the catalogue repeats the id {ids[row - 1]!r}; list every item once"
        )


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


def _is_utf_8(path: str | os.PathLike[str]) -> bool:
    """Whether a plain file is; a catalogue is public, so all of it may decide how each line is read."""
    try:
        return "\0" not in Path(path).read_text(encoding="utf-8")
    except (UnicodeError, OSError):
        return False
