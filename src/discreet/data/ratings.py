"""Ratings: who rated what, in the person's own ids. The private side starts here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NotRequired, Required, TypeAlias, TypedDict, Unpack

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.catalogue import Catalogue, Id, IdArray, Ids, RatingScale, as_ids, positions
from discreet.catalogue.columns import Columns, TextFormat, check_columns
from discreet.data import readers
from discreet.data.rows import arrange, check_reading, check_used, group, read_ids, read_rows
from discreet.data.rules import (
    NOTHING,
    ROW_BY_ROW,
    Duplicates,
    LeftOut,
    Missing,
    OutOfRange,
    RowRules,
    UnknownItems,
    check_dropped,
)
from discreet.errors import HistoryInvalid, RatingsInvalid

__all__ = ["CatalogueSource", "FileReading", "Ratings", "Reading"]

CatalogueSource: TypeAlias = Catalogue | str | os.PathLike[str] | Sequence[Id] | npt.NDArray[Any] | None


class Reading(TypedDict):
    """How to read a table; the parameters of `Ratings.from_frame`."""

    user: Required[str]
    item: Required[str]
    rating: NotRequired[str | None]
    rating_range: NotRequired[tuple[float, float] | None]
    catalogue: NotRequired[CatalogueSource]
    missing: NotRequired[Missing]
    out_of_range: NotRequired[OutOfRange]
    unknown_items: NotRequired[UnknownItems]
    duplicates: NotRequired[Duplicates]
    allow_dropped: NotRequired[float]
    time: NotRequired[str | None]


class FileReading(Reading):
    """How to read a file; the parameters of `Ratings.from_file`."""

    separator: NotRequired[str | None]
    encoding: NotRequired[str | None]


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """All ratings, by user. Build it with one of the ``from_`` methods, which check what they are given.

    Attributes
    ----------
    indptr, items, values
        The ratings of user row ``i`` are at ``indptr[i]:indptr[i + 1]``; item indices rise within a user.
        Values are 1.0 for implicit feedback. Do not write to these arrays.
    user_ids
        The person's own user ids, one for each row.
    catalogue
        The public list that `items` indexes, or None if none was given.
    provisional_ids
        Only without a catalogue: the ids of the items that were seen, which `items` then indexes.
    rating_range
        Lowest and highest possible rating; None for implicit feedback.
    rules, left_out
        What becomes of rows that cannot be used, and how many there were of each kind.

    Notes
    -----
    **Privacy.** Everything here is private, `provisional_ids` and `left_out` included: which items were rated at all
    may give a single user away. Only `catalogue`, `rating_range` and `rules` are public.
    """

    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]
    user_ids: IdArray
    catalogue: Catalogue | None
    rating_range: tuple[float, float] | None
    provisional_ids: IdArray | None = None
    rules: RowRules = ROW_BY_ROW
    left_out: LeftOut = NOTHING

    @classmethod
    def from_frame(cls, frame: Any, **reading: Unpack[Reading]) -> Ratings:
        """Read a polars (lazy or not), pandas or Arrow table, a DuckDB relation, or a mapping of columns.

        Parameters
        ----------
        frame
            One row for each rating.
        user, item, rating
            Names of the columns. Without a rating column the feedback is implicit: a row says "did".
        rating_range
            Public lowest and highest value of the scale; needed with a rating column.
        catalogue
            The public item list: a `Catalogue`, a file (see `Catalogue.from_file`), or ids. Private methods
            refuse ratings without one, unless they are told to pay for choosing it.
        missing, out_of_range, unknown_items, duplicates
            What becomes of rows that cannot be used, each looked at alone: see :class:`discreet.data.rules.RowRules`.
            They are left out, and of repeats the last counts, unless something else is said. With ``"error"`` one bad
            row refuses the whole table. `left_out` says how many there were.
        allow_dropped
            A table of which a larger share of the rows (0.2 if left out) would be left out is refused.
        time
            Column of times, which says which of repeated rows is the last or the first; without it their order does.

        Raises
        ------
        RatingsInvalid
            With what is wrong with the table, or its first bad row (from 1, without the header), and what to do.

        Notes
        -----
        **Privacy.** With ``"error"`` one user decides whether there is a model at all, and the statement says so.
        """
        if strange := set(reading) - set(Reading.__annotations__):
            raise TypeError(
                f"there is no parameter {min(strange)!r}; there are {', '.join(Reading.__annotations__)}"
            )
        columns, listed = _columns(reading), _catalogue(reading.get("catalogue"))
        given: dict[str, Any] = {name: reading[name] for name in _RULES if name in reading}  # type: ignore[literal-required]
        rules = RowRules(**given)
        rating_range = check_reading(columns, reading.get("rating_range"), rules)
        table = _table(frame, columns)
        read = read_rows(table, columns, rating_range, listed, rules)
        check_used(table.height, read.left_out, read.first_item)
        check_dropped(table.height, read.left_out, rules)
        items = read.seen_items if listed is None else listed.ids
        assert items is not None
        arrays, users, merged = group(read.table, items, columns, rules)
        left_out, user_ids = read.left_out._replace(merged=merged), users.to_numpy(writable=True)
        return cls(*arrays, user_ids, listed, rating_range, read.seen_items, rules, left_out)

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str], **reading: Unpack[FileReading]) -> Ratings:
        """Read a CSV file with a header (plain, .gz or .zst), whatever it is called; the rest as in `from_frame`.

        The separator is found in the first line unless it is given: comma, semicolon, tab, bar or double colon. Text is
        UTF-8 unless an encoding is given, and ratings have a decimal point or comma.
        Ids become integers when every one in the column is written as a plain integer, else they stay text.
        """
        return cls._read(path, ".csv", reading)

    @classmethod
    def from_parquet(cls, path: str | os.PathLike[str], **reading: Unpack[FileReading]) -> Ratings:
        """Read a Parquet file; the other parameters are those of `from_frame`."""
        return cls._read(path, ".parquet", reading)

    @classmethod
    def from_file(cls, source: str | os.PathLike[str], **reading: Unpack[FileReading]) -> Ratings:
        """Read a file by its extension.

        Extensions: .csv, .tsv, .parquet, .pq, .ndjson, .jsonl, .dat (MovieLens), also under .gz, and CSV under .zst;
        ``"-"`` is standard input. A folder or a pattern stands for its files. The other parameters
        are those of `from_csv`.
        """
        return cls._read(source, None, reading)

    @classmethod
    def _read(cls, source: str | os.PathLike[str], kind: str | None, reading: FileReading) -> Ratings:
        text = TextFormat(reading.get("separator"), reading.get("encoding"))
        rest: Any = {name: value for name, value in reading.items() if name not in text._fields}
        return cls.from_frame(readers.read_file(source, _columns(rest), kind, text), **rest)

    @classmethod
    def from_arrays(
        cls,
        indptr: npt.ArrayLike,
        items: npt.ArrayLike,
        values: npt.ArrayLike,
        *,
        catalogue: CatalogueSource,
        rating_range: tuple[float, float] | None,
        user_ids: Ids | None = None,
        allow_dropped: float = 0.2,
    ) -> Ratings:
        """Take arrays of the form the attributes describe (of a scipy CSR matrix as well), checked.

        Items may come in any order in a user. Without a catalogue the indices are the item ids, and without user ids
        the row numbers are. What is no number, or outside the range, is left out.
        """
        listed, rules = _catalogue(catalogue), RowRules(allow_dropped=allow_dropped)
        from discreet.data.frames import read_arrays

        arrays, users, seen, known, left_out = read_arrays(
            indptr, items, values, listed, rating_range, user_ids, rules
        )
        return cls(*arrays, users, listed, known, seen, rules, left_out)

    @property
    def n_users(self) -> int:
        """Number of users, those without ratings included."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """Number of items in the catalogue (or seen, where there is no catalogue)."""
        return len(self._item_ids())

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""
        return len(self.items)

    @property
    def n_rows(self) -> int:
        """Number of rows that they were read from."""
        return self.n_ratings + self.left_out.gone

    @property
    def explicit(self) -> bool:
        """Whether there are rating values, and not only the fact of an interaction."""
        return self.rating_range is not None

    @property
    def scale(self) -> RatingScale:
        """The scale of the ratings; public."""
        return RatingScale(self.rating_range)

    def take_users(self, index: npt.ArrayLike | slice) -> Ratings:
        """The given user rows (numbers, a mask or a slice), in that order."""
        rows = np.arange(self.n_users)[index if isinstance(index, slice) else np.asarray(index)]
        counts = np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(counts)])
        entries = np.arange(indptr[-1]) + np.repeat(self.indptr[rows] - indptr[:-1], counts)
        return replace(
            self,
            indptr=indptr,
            items=self.items[entries],
            values=self.values[entries],
            user_ids=self.user_ids[rows],
        )

    def for_users(self, user_ids: Ids) -> Ratings:
        """The rows of the given users, in that order; a user who has none gets an empty row.

        This is what lines two files up, for instance test ratings with the histories they belong to.
        """
        wanted, _ = read_ids(user_ids, "user_ids", "user", strict=True)
        rows = positions(wanted, as_ids(self.user_ids))
        known = self.take_users(rows[rows >= 0])
        counts = np.zeros(len(wanted), dtype=np.int64)
        counts[rows >= 0] = np.diff(known.indptr)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return replace(known, indptr=indptr, user_ids=wanted.to_numpy(writable=True))

    def keep(self, mask: npt.NDArray[np.bool_]) -> Ratings:
        """The same users with only those ratings where the mask (one entry for each rating) is true."""
        kept = np.concatenate([[0], np.cumsum(mask)])
        return replace(self, indptr=kept[self.indptr], items=self.items[mask], values=self.values[mask])

    def with_catalogue(self, catalogue: CatalogueSource) -> Ratings:
        """The same users with another item list; ratings of items it lacks are dropped."""
        listed = _catalogue(catalogue)
        if listed is None:
            raise RatingsInvalid("a catalogue is needed; give a Catalogue, a file, or ids")
        index = positions(as_ids(self._item_ids()), as_ids(listed.ids))[self.items]
        kept = self.keep(index >= 0)
        users = np.repeat(np.arange(self.n_users), np.diff(kept.indptr))
        arrays, _ = arrange(users, index[index >= 0], kept.values, self.n_users, len(listed))
        rules = replace(self.rules, unknown_items="drop")
        return Ratings(*arrays, self.user_ids, listed, self.rating_range, rules=rules, left_out=self.left_out)

    def history(self, user_id: Id) -> dict[Id, float]:
        """What one user rated, and how: a history to recommend from."""
        known = isinstance(user_id, int | str | np.integer)
        row = int(positions(as_ids([user_id]), as_ids(self.user_ids))[0]) if known else -1
        if row < 0:
            raise HistoryInvalid(f"there is no user {user_id!r} in these ratings")
        part = slice(self.indptr[row], self.indptr[row + 1])
        return dict(zip(self._item_ids()[self.items[part]].tolist(), self.values[part].tolist(), strict=True))

    def to_polars(self) -> pl.DataFrame:
        """All ratings as a polars frame (``user``, ``item``, and ``rating`` if there are any); private, as they are.

        pandas and Arrow take it by its own ``to_pandas()`` and ``to_arrow()``.
        """
        users = as_ids(self.user_ids).gather(np.repeat(np.arange(self.n_users), np.diff(self.indptr)))
        columns = {"user": users, "item": as_ids(self._item_ids()).gather(self.items)}
        return pl.DataFrame(columns | ({"rating": pl.Series(self.values)} if self.explicit else {}))

    def __repr__(self) -> str:
        return f"Ratings({self.n_users} users, {self.n_items} items, {self.n_ratings} ratings, {self.scale})"

    def _item_ids(self) -> IdArray:
        if self.catalogue is not None:
            return self.catalogue.ids
        assert self.provisional_ids is not None
        return self.provisional_ids


_RULES = ("missing", "out_of_range", "unknown_items", "duplicates", "allow_dropped")


def _catalogue(source: CatalogueSource) -> Catalogue | None:
    if source is None or isinstance(source, Catalogue):
        return source
    if isinstance(source, str | os.PathLike):
        return Catalogue.from_file(source)
    return Catalogue(source)


def _table(frame: Any, columns: Columns) -> pl.DataFrame:
    """The named columns; what is no typed table of polars is read by a file that is loaded when it is asked for."""
    if isinstance(frame, pl.DataFrame):
        check_columns(frame.columns, columns)
        named = frame.select(columns.names())
        if pl.Object not in named.dtypes:
            return named
    from discreet.data.frames import read_frame

    return read_frame(frame, columns)


def _columns(reading: Reading) -> Columns:
    return Columns(reading["user"], reading["item"], reading.get("rating"), reading.get("time"))
