"""Names of columns and files that are not there, and the ones that were meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

__all__ = ["closest", "no_column", "no_file"]

_MOST = 1_000  # neighbours that are looked at: to compare names takes time
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")


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
