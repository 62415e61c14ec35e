"""Options that say which columns of a file are what; the same for every command that reads ratings or items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from discreet.errors import SettingsInvalid

__all__ = ["column_options", "features_option", "read_features"]

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
