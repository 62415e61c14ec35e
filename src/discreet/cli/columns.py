"""Options that say which columns of a file are what; the same for every command that reads ratings or items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from discreet.errors import SettingsInvalid

__all__ = [
    "FILE_OPTIONS",
    "column_options",
    "features_option",
    "file_options",
    "read_features",
    "read_separator",
]

F = TypeVar("F", bound=Callable[..., Any])

features_option = click.option(
    "--features",
    multiple=True,
    metavar="COLUMN[:KIND],...",
    help="Columns of the catalogue that describe the items, such as genres,title; repeatable. A kind (number, "
    "category, tags, text, people, embedding) is guessed if left out.",
)


def read_features(given: Sequence[str], catalogue: str | None) -> list[str] | None:
    """Columns of ``--features``, each perhaps with a kind after a colon; ``None`` where there are none."""
    named = [part.strip() for text in given for part in text.split(",") if part.strip()]
    if given and not named:
        raise SettingsInvalid("--features names no column; write it like --features genres,title")
    if named and catalogue is None:
        raise SettingsInvalid("--features names columns of --catalogue FILE, which is missing")
    return named or None


def column_options(function: F) -> F:
    """Add ``--user``, ``--item`` and ``--rating``."""
    for option in (
        click.option("--rating", help="Column of ratings; leave it out for implicit feedback."),
        click.option("--item", required=True, help="Column of item ids."),
        click.option("--user", required=True, help="Column of user ids: the unit of privacy."),
    ):
        function = option(function)
    return function


FILE_OPTIONS = ("weight", "graded", "time", "separator", "encoding")
"""As the commands know them, and `Ratings.from_file`."""


def read_separator(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """A tab may be written out."""
    return {"tab": "\t", r"\t": "\t"}.get(value or "", value)


def file_options(function: F) -> F:
    """Add what says how files of ratings are written: weights, times, separator and encoding."""
    for option in (
        click.option(
            "--encoding", metavar="NAME", help="Of text: latin-1, cp1252, utf-16.  [default: utf-8]"
        ),
        click.option(
            "--separator",
            metavar="TEXT",
            callback=read_separator,
            help="Between columns of text: ; or tab or ::  [default: found in the first line]",
        ),
        click.option(
            "--time", help="Column of times: they say which of repeated rows is the last or the first."
        ),
        click.option(
            "--graded",
            type=click.FloatRange(min=0.0, min_open=True),
            metavar="CAP",
            help="With --weight: a rating between 0 and 1, log(1 + weight) / log(1 + CAP), at most 1. CAP is public.",
        ),
        click.option(
            "--weight",
            help="Column of weights or play counts, in place of --rating: more than 0 in all is a click.",
        ),
    ):
        function = option(function)
    return function
