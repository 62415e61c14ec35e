"""Options that say what becomes of rows that cannot be used; the same for every command that reads many users' rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, get_args

import click

from discreet.data.rules import Duplicates

__all__ = ["ROW_OPTIONS", "row_options"]

F = TypeVar("F", bound=Callable[..., Any])

ROW_OPTIONS = ("missing", "out_of_range", "unknown_items", "duplicates", "allow_dropped")
"""As the commands know them, and `Ratings.from_file`."""


def row_options(default: str) -> Callable[[F], F]:
    """Add ``--missing``, ``--out-of-range``, ``--unknown-items`` with this default, and what goes with them.

    For training that is ``"drop"``: each row is looked at alone. Where nothing is dropped unless somebody says so, all
    may be.
    """
    options = (
        ("--missing", ["drop", "error"], "Rows that lack a user, an item or a rating."),
        (
            "--out-of-range",
            ["drop", "clip", "error"],
            "Ratings outside the range; clip: to its nearer end.",
        ),
        ("--unknown-items", ["drop", "error"], "Rows of items that the catalogue lacks."),
    )
    refusal = " error: one such row refuses the file, which tells that it is there."

    def add(function: F) -> F:
        function = click.option(
            "--repeats",
            "duplicates",
            type=click.Choice(get_args(Duplicates)),
            help="Rows that repeat a user and an item: which of them counts.  [default: last; with --weight: sum]",
        )(function)
        function = click.option(
            "--allow-dropped",
            type=click.FloatRange(0.0, 1.0),
            default=0.2 if default == "drop" else 1.0,
            show_default=True,
            metavar="SHARE",
            help="Refuse a file of which a larger share of the rows would be left out.",
        )(function)
        for name, choices, words in reversed(options):
            told = words + (refusal if default == "drop" else "")
            option = click.option(
                name, type=click.Choice(choices), default=default, show_default=True, help=told
            )
            function = option(function)
        return function

    return add
