"""Options that say how files of ratings are read; the same for every command that reads many users' rows."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import click
from pydantic import Field

from discreet.cli.request import Option, Request
from discreet.data.ratings import FileReading
from discreet.data.rules import Duplicates, Missing, OutOfRange, UnknownItems

__all__ = ["Columns", "Files", "Rows", "Separator", "WholeRows"]

_REFUSES = " error: one such row refuses the file, which tells that it is there."


def _separator(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """A tab may be written out."""
    return {"tab": "\t", r"\t": "\t"}.get(value or "", value)


Separator: TypeAlias = Annotated[
    str | None,
    Option(
        "Between columns of text: ; or tab or ::  [default: found in the first line]",
        metavar="TEXT",
        callback=_separator,
    ),
]


class Columns(Request):
    """Which column is what."""

    user: Annotated[str, Option("Column of user ids: the unit of privacy.", metavar="NAME")]
    item: Annotated[str, Option("Column of item ids.", metavar="NAME")]
    rating: Annotated[
        str | None, Option("Column of ratings; leave it out for implicit feedback.", metavar="NAME")
    ] = None


class Files(Columns):
    """How files are written: weights, times, separator and encoding."""

    weight: Annotated[
        str | None,
        Option(
            "Column of weights or play counts, in place of --rating: more than 0 in all is a click.",
            metavar="NAME",
        ),
    ] = None
    graded: Annotated[
        float | None,
        Field(gt=0.0),
        Option(
            "With --weight: a rating between 0 and 1, log(1 + weight) / log(1 + CAP), at most 1. CAP is public.",
            metavar="CAP",
        ),
    ] = None
    time: Annotated[
        str | None,
        Option("Column of times: they say which of repeated rows is the last or the first.", metavar="NAME"),
    ] = None
    separator: Separator = None
    encoding: Annotated[
        str | None, Option("Of text: latin-1, cp1252, utf-16.  [default: utf-8]", metavar="NAME")
    ] = None


class Rows(Files):
    """What becomes of rows that cannot be used: dropped, each by itself."""

    missing: Annotated[Missing, Option(f"Rows that lack a user, an item or a rating.{_REFUSES}")] = "drop"
    out_of_range: Annotated[
        OutOfRange, Option(f"Ratings outside the range; clip: to its nearer end.{_REFUSES}")
    ] = "drop"
    unknown_items: Annotated[UnknownItems, Option(f"Rows of items that the catalogue lacks.{_REFUSES}")] = (
        "drop"
    )
    allow_dropped: Annotated[
        float,
        Field(ge=0.0, le=1.0),
        Option("Refuse a file of which a larger share of the rows would be left out.", metavar="SHARE"),
    ] = 0.2
    duplicates: Annotated[
        Duplicates | None,
        Option(
            "Rows that repeat a user and an item: which of them counts.  [default: last; with --weight: sum]",
            name="--repeats",
        ),
    ] = None

    def reading(self) -> FileReading:
        """How the rows are read: parameters of `Ratings.from_file`."""
        found: Any = {name: getattr(self, name) for name in Rows.model_fields}
        reading: FileReading = found
        return reading


class WholeRows(Rows):
    """The same where nothing is dropped unless somebody says so; then all may be."""

    missing: Annotated[Missing, Option("Rows that lack a user, an item or a rating.")] = "error"
    out_of_range: Annotated[OutOfRange, Option("Ratings outside the range; clip: to its nearer end.")] = (
        "error"
    )
    unknown_items: Annotated[UnknownItems, Option("Rows of items that the catalogue lacks.")] = "error"
    allow_dropped: Annotated[
        float,
        Field(ge=0.0, le=1.0),
        Option("Refuse a file of which a larger share of the rows would be left out.", metavar="SHARE"),
    ] = 1.0
