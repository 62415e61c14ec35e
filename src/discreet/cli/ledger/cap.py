"""``discreet ledger cap``: what all runs together may cost."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.ledger.options import cap_fields, file_argument
from discreet.cli.output import json_option, print_json, printer
from discreet.errors import BudgetInvalid
from discreet.privacy.account.ledger_file import LedgerFile
from discreet.privacy.budget import Budget

__all__ = ["cap_command"]


@click.command("cap")
@file_argument
@click.option("--epsilon", help="What all runs together may cost at most, at --delta.")
@click.option("--delta", help="Privacy parameter delta of the whole; well below 1 / users.")
@click.option("--lift", is_flag=True, help="Have no cap any more. That is written down, like every cap.")
@json_option
def cap_command(file: str, epsilon: str | None, delta: str | None, lift: bool, as_json: bool) -> None:
    """Set the cap of FILE, or show it if nothing else is given. Begins the ledger if there is none.

    A run that does not fit under the cap beside all others, with those that go on counted whole, is refused before it
    reads ratings.

    \b
    Example:
      discreet ledger cap shop.ledger --epsilon 4 --delta 1e-6
    """
    ledger = LedgerFile(file)
    given = epsilon is not None or delta is not None
    if given and (epsilon is None or delta is None or lift):
        raise BudgetInvalid("a cap has --epsilon and --delta; --lift stands alone")
    if lift and not Path(file).exists():
        raise BudgetInvalid(f"there is no ledger {file}, and so no cap to lift")
    if epsilon is not None and delta is not None:
        ledger.set_cap(Budget.parse(epsilon, delta))
    elif lift:
        ledger.set_cap(None)
    account = ledger.account()
    if as_json:
        print_json({"ledger": account.name, "cap": cap_fields(account.cap), "head": account.head})
        return
    printer().print(
        f"{account.name}: no cap" if account.cap is None else f"{account.name}: cap {account.cap}"
    )
