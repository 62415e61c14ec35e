"""What becomes of rows that cannot be used as they are. Named rules, each of which looks at one row alone.

**Privacy.** A rule that leaves out or mends a row acts on its user's own contribution, so data sets that differ in one
user still differ in that user alone once they are read. ``"error"`` is no such rule: one row of one user then decides
whether there is a model. The promise then holds among tables without such a row, and the statement says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

from discreet.errors import RatingsInvalid

__all__ = [
    "NOTHING",
    "ROW_BY_ROW",
    "Duplicates",
    "LeftOut",
    "Missing",
    "OutOfRange",
    "RowRules",
    "UnknownItems",
    "check_dropped",
    "dropped_words",
]

Duplicates: TypeAlias = Literal["last", "first", "error"]
Missing: TypeAlias = Literal["drop", "error"]
OutOfRange: TypeAlias = Literal["drop", "clip", "error"]
UnknownItems: TypeAlias = Literal["drop", "error"]


_CHOICES = {
    "missing": Missing,
    "out_of_range": OutOfRange,
    "unknown_items": UnknownItems,
    "duplicates": Duplicates,
}


@dataclass(frozen=True)
class RowRules:
    """How rows are read; public.

    Parameters
    ----------
    missing
        Rows without a user, an item or a rating: ``"drop"`` them, or refuse the table (``"error"``). What is no finite
        number is no rating, and a fraction is no id.
    out_of_range
        Ratings outside the range: ``"drop"`` them, ``"clip"`` them to its nearer end, or ``"error"``.
    unknown_items
        Items that the catalogue does not list: ``"drop"`` their rows, or ``"error"``.
    duplicates
        Of rows that repeat a pair of user and item the ``"last"`` counts, or the ``"first"`` (as they come, or by their
        times), or ``"error"``.
    allow_dropped
        A table of which a larger share of the rows would be left out is refused: its columns, catalogue or range are
        likely those of other ratings. 1 allows everything.
    """

    missing: Missing = "drop"
    out_of_range: OutOfRange = "drop"
    unknown_items: UnknownItems = "drop"
    duplicates: Duplicates = "last"
    allow_dropped: float = 0.2

    def __post_init__(self) -> None:
        for name, kind in _CHOICES.items():
            if (value := getattr(self, name)) not in get_args(kind):
                allowed = ", ".join(map(repr, get_args(kind)))
                raise RatingsInvalid(f"{name} is {value!r}; it must be one of {allowed}")
        if not 0.0 <= self.allow_dropped <= 1.0:
            raise RatingsInvalid(
                f"allow_dropped is {self.allow_dropped}; it is a share of the rows, from 0 to 1"
            )

    def domain(self, *, explicit: bool, listed: bool) -> tuple[str, ...]:
        """Which data sets a promise is about that rests on ratings read so, in words for its statement.

        Parameters
        ----------
        explicit, listed
            Whether there are ratings, and a catalogue that lists the items.
        """
        cases: list[tuple[str, str]] = [
            (f"rows without a user, an item{' or a rating' if explicit else ''}", self.missing)
        ]
        if explicit:
            cases.append(("ratings outside the range", self.out_of_range))
        if listed:
            cases.append(("items outside the catalogue", self.unknown_items))
        cases.append(("rows that repeat a user and an item", self.duplicates))
        mended = [f"{what} {_DONE[rule]}" for what, rule in cases if rule != "error"]
        refused = [what for what, rule in cases if rule == "error"]
        if self.allow_dropped < 1.0:
            refused.append(
                f"tables of which more than {100.0 * self.allow_dropped:g} % of the rows would be left out"
            )
        told = ["any table of ratings with at least one row that can be used"]
        if mended:
            told.append(f"row by row, whatever the others hold: {'; '.join(mended)}")
        if refused:
            told[0] = (
                "tables of ratings with at least one row that can be used, and none of those that are refused"
            )
            told.append(
                f"refused as a whole, so that whether there is a model depends on one row: {'; '.join(refused)}"
            )
        return tuple(told)


_DONE = {
    "drop": "are left out",
    "clip": "count as its nearer end",
    "last": "count by the last",
    "first": "count by the first",
}

ROW_BY_ROW = RowRules()
"""What holds if nothing else is said."""


class LeftOut(NamedTuple):
    """How many rows each rule met, the first that applied to a row. Exact, so for the holder of the data alone."""

    missing: int = 0
    out_of_range: int = 0
    unknown_items: int = 0
    clipped: int = 0
    merged: int = 0
    """Rows that repeat a pair of user and item, and went into another row of it."""

    @property
    def dropped(self) -> int:
        """Rows that were left out, for whatever reason."""
        return self.missing + self.out_of_range + self.unknown_items

    @property
    def gone(self) -> int:
        """Rows that are no ratings of their own: left out, or merged into others."""
        return self.dropped + self.merged


NOTHING = LeftOut()
"""No row."""


def dropped_words(rows: int, left_out: LeftOut) -> str:
    """One sentence about the rows that are left out, for the holder of the data alone."""
    reasons = (
        (left_out.missing, "lack a user, an item or a number as their rating"),
        (left_out.out_of_range, "have a rating outside the range"),
        (left_out.unknown_items, "name an item that the catalogue lacks"),
    )
    told = ", ".join(f"{count:,} {why}" for count, why in reasons if count)
    share = 100.0 * left_out.dropped / rows
    return f"{left_out.dropped:,} of {rows:,} rows ({share:.3g} %) are left out: {told}"


def check_dropped(rows: int, left_out: LeftOut, rules: RowRules) -> None:
    """Refuse a table of which more is left out than is allowed."""
    if left_out.dropped > rules.allow_dropped * rows:
        needed = math.ceil(100.0 * left_out.dropped / rows) / 100.0
        raise RatingsInvalid(
            f"{dropped_words(rows, left_out)}. More than {100.0 * rules.allow_dropped:g} % is refused: check columns, "
            f"range and catalogue, or allow it with allow_dropped={needed:g} (--allow-dropped {needed:g})"
        )
