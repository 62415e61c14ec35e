"""Which column holds what, and names of columns and files that are not there: public, and asked for by name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

from discreet.catalogue.scale import why_no_range
from discreet.errors import RatingsInvalid

__all__ = [
    "PLAIN_TEXT",
    "Columns",
    "Range",
    "TextFormat",
    "check_columns",
    "check_range",
    "closest",
    "no_column",
    "no_file",
]

Range: TypeAlias = tuple[float, float]
"""Lowest and highest possible rating."""

_MOST = 1_000  # neighbours that are looked at: to compare names takes time
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")


class Columns(NamedTuple):
    """Which column holds what; no rating column: implicit feedback. Times say which of repeated rows is the last."""

    user: str
    item: str
    rating: str | None = None
    time: str | None = None

    def names(self) -> list[str]:
        """The columns that are read."""
        return [name for name in self if name is not None]


class TextFormat(NamedTuple):
    """How text is written: what sets columns apart (found in the first line), and its encoding (UTF-8)."""

    separator: str | None = None
    encoding: str | None = None


PLAIN_TEXT = TextFormat()
"""UTF-8, with whatever separator the first line has."""


def check_columns(present: Sequence[str], columns: Columns) -> None:
    """Refuse a table that lacks a named column, or one column named for two things."""
    for name in columns.names():
        if name not in present:
            raise RatingsInvalid(no_column(name, present))
    if len(set(columns.names())) < len(columns.names()):
        named = [what for what, name in columns._asdict().items() if name is not None]
        raise RatingsInvalid(f"{', '.join(named[:-1])} and {named[-1]} must be different columns")


def check_range(rating_range: Range | None, rated: bool) -> Range | None:
    """The range as two floats; it must come with ratings and only with them."""
    if rating_range is None:
        if rated:
            raise RatingsInvalid(
                "a rating column needs the public range of its scale, which is never read off the data: give "
                "rating_range=(lowest, highest), or leave the rating column out for implicit feedback"
            )
        return None
    if not rated:
        raise RatingsInvalid(
            "a rating range without a rating column: name the column, or leave the range out"
        )
    try:
        low, high = (float(bound) for bound in rating_range)
    except (TypeError, ValueError):
        raise RatingsInvalid(f"the rating range {rating_range!r} is not a pair of numbers") from None
    if wrong := why_no_range(low, high):
        raise RatingsInvalid(wrong)
    return low, high


def closest(name: str, present: Sequence[str]) -> str | None:
    """The name that was probably meant: the same but for case, spaces and underscores, or for a typing mistake."""
    plain = {_plain(other): other for other in reversed(present)}
    if _plain(name) in plain:
        return plain[_plain(name)]
    close = difflib.get_close_matches(_plain(name), list(plain), n=1)
    return plain[close[0]] if close else None


def no_column(name: str, present: Sequence[str]) -> str:
    """Say that a column is not there, which ones are, and which one was meant."""
    meant = closest(name, present)
    if meant is not None:
        hint = f"did you mean {meant!r}?"
    elif any(_NUMBER.fullmatch(other.strip()) for other in present):
        hint = "the first line seems to be a row already; put a line with the names of the columns above it"
    else:
        hint = "name the columns as the table has them"
    shown = [other if other == other.strip() else repr(other) for other in present]
    return f"there is no column {name!r}; there is {', '.join(shown) or 'none'}: {hint}"


def no_file(path: Path, what: str = "file") -> str:
    """Say that a file is not there, or something else that has a path, and what beside it was meant."""
    try:
        beside = [other.name for other in islice(path.parent.iterdir(), _MOST)]
    except OSError:  # no such folder, or one that may not be read
        beside = []
    meant = closest(path.name, beside)
    return f"there is no {what} {path}" + (
        "" if meant is None else f"; did you mean {path.with_name(meant)}?"
    )


def _plain(name: str) -> str:
    return re.sub(r"[\s_\-]+", "", name).casefold()
