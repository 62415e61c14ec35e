"""``--ledger`` and ``--ledger-group``, for every command that spends a budget."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import click
from click.core import ParameterSource

from discreet.cli.request import Option, Request
from discreet.errors import SettingsInvalid
from discreet.privacy.account.ledger_file import LedgerFile

__all__ = ["LEDGER_VARIABLE", "Charged", "given_ledger", "ledger_options", "refuse_ledger"]

LEDGER_VARIABLE = "DISCREET_LEDGER"
F = TypeVar("F", bound=Callable[..., Any])
_LEDGER = (
    "Keep what all runs on these people's ratings cost in FILE, and refuse this one if a cap has no room."
)
_GROUP = "For ratings of some people alone: you declare that nobody is in two groups of the ledger."


class Charged(Request):
    """Where the cost of all runs on these people's ratings is kept."""

    ledger: Annotated[str | None, Option(_LEDGER, metavar="FILE", envvar=LEDGER_VARIABLE)] = None
    ledger_group: Annotated[str | None, Option(_GROUP, metavar="NAME")] = None

    def given_ledger(self) -> LedgerFile | None:
        """The ledger that was named, here or by the environment; says so where it begins with this run."""
        return given_ledger({"ledger": self.ledger, "ledger_group": self.ledger_group})


def ledger_options(function: F) -> F:
    """Add the options that say where all runs on these people's ratings are kept."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def given_ledger(options: dict[str, Any]) -> LedgerFile | None:
    """The ledger that was named, here or by the environment; says so where it begins with this run."""
    path, group = options["ledger"], options["ledger_group"]
    if not path:
        if group is not None:
            raise SettingsInvalid("--ledger-group without --ledger: name the file as well")
        return None
    if not Path(path).exists():
        click.echo(f"Began the ledger {path}: it knows of no earlier run on these ratings.", err=True)
    return LedgerFile(path, group=group)


def refuse_ledger(ctx: click.Context, why: str) -> None:
    """Refuse a ledger that was asked for where nothing can be charged; one that the environment names is left alone."""
    for name in ("ledger", "ledger_group"):
        typed = ctx.get_parameter_source(name) not in (ParameterSource.DEFAULT, ParameterSource.ENVIRONMENT)
        if typed and ctx.params.get(name):
            raise SettingsInvalid(f"{why} has no use for --{name.replace('_', '-')}; leave it out")


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("--ledger", metavar="FILE", envvar=LEDGER_VARIABLE, show_envvar=True, help=_LEDGER),
    click.option("--ledger-group", metavar="NAME", help=_GROUP),
)
