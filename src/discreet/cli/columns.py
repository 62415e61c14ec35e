"""Options that say which columns of a file are what; the same for every command that reads ratings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = ["column_options"]

F = TypeVar("F", bound=Callable[..., Any])


def column_options(function: F) -> F:
    """Add ``--user``, ``--item`` and ``--rating``."""
    for option in (
        click.option("--rating", help="Column of ratings; leave it out for implicit feedback."),
        click.option("--item", required=True, help="Column of item ids."),
        click.option("--user", required=True, help="Column of user ids: the unit of privacy."),
    ):
        function = option(function)
    return function
