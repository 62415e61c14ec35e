"""``--ledger`` and ``--ledger-group``, for every command that spends a budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from discreet.cli.request import Request, adds, option
from discreet.errors import SettingsInvalid

if TYPE_CHECKING:
    from discreet.privacy.account.ledger_file import LedgerFile

__all__ = ["LEDGER_VARIABLE", "Charged", "given_ledger", "ledger_options", "refuse_ledger"]

LEDGER_VARIABLE = "DISCREET_LEDGER"


class Charged(Request):
    """Where the cost of all runs on these people's ratings is kept."""

    ledger: str | None = option(
        "Keep what all runs on these people's ratings cost in FILE, and refuse this one if a cap has no room.",
        metavar="FILE",
        envvar=LEDGER_VARIABLE,
    )
    ledger_group: str | None = option(
        "For ratings of some people alone: you declare that nobody is in two groups of the ledger."
    )


ledger_options = adds(Charged)


def given_ledger(path: str | None, group: str | None) -> LedgerFile | None:
    """The ledger that was named, here or by the environment; says so where it begins with this run."""
    if not path:
        if group is not None:
            raise SettingsInvalid("--ledger-group without --ledger: name the file as well")
        return None
    from discreet.privacy.account.ledger_file import LedgerFile

    if not Path(path).exists():
        click.echo(f"Began the ledger {path}: it knows of no earlier run on these ratings.", err=True)
    return LedgerFile(path, group=group)


def refuse_ledger(ctx: click.Context, why: str) -> None:
    """Refuse a ledger that was asked for where nothing can be charged; one that the environment names is left alone."""
    for name in ("ledger", "ledger_group"):
        typed = ctx.get_parameter_source(name) not in (ParameterSource.DEFAULT, ParameterSource.ENVIRONMENT)
        if typed and ctx.params.get(name):
            raise SettingsInvalid(f"{why} has no use for --{name.replace('_', '-')}; leave it out")
