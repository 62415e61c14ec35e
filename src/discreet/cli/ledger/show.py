"""``discreet ledger show``: all runs, what they come to, and what is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.table import Table

from discreet.cli.ledger.options import cap_fields, fields, file_argument
from discreet.cli.ledger.stores import account_of_store
from discreet.cli.output import json_option, print_json, printer
from discreet.errors import BudgetInvalid
from discreet.privacy.account.account import Account, Run
from discreet.privacy.account.ledger_file import LedgerFile
from discreet.privacy.accounting import round_up

__all__ = ["show_command"]


@click.command("show")
@file_argument
@click.option(
    "--delta", type=float, help="State epsilon at this delta; the cap's or the runs' own if left out."
)
@json_option
def show_command(file: str, delta: float | None, as_json: bool) -> None:
    """Show all runs in FILE and what they cost together.

    FILE may also be the store of a silo or of a device: they keep their own accounts. Those have no chain of hashes,
    and a device's is about another relation, so they are shown and not added to a ledger. A silo's store does not
    have the agreed delta: give it with --delta.

    \b
    Example:
      discreet ledger show shop.ledger
    """
    account = account_of_store(Path(file), delta) or LedgerFile(file).account()
    if delta is not None and not 0.0 <= delta < 1.0:
        raise BudgetInvalid(f"--delta must lie between 0 and 1, not {delta:g}")
    content = _content(account, account.delta if delta is None else delta)
    if as_json:
        print_json(content)
    else:
        _print(content)


def _content(account: Account, delta: float) -> dict[str, Any]:
    groups = [{"group": group, **fields(account.cost(group), delta)} for group in account.groups]
    return {
        "ledger": account.name,
        "relation": account.relation,
        "spent": {"epsilon": account.epsilon(delta), "delta": delta, "mu": account.mu},
        "cap": cap_fields(account.cap),
        "groups": groups,
        "undivided": fields(account.undivided, delta) if groups else None,
        "runs": [_run(run) for run in account.runs.values()],
        "head": account.head or None,
    }


def _run(run: Run) -> dict[str, Any]:
    asked = run.asked
    return {
        "when": asked.when,
        "model": asked.model or asked.method,
        "method": asked.method,
        "trust": asked.trust,
        "group": asked.group,
        "epsilon": run.epsilon,
        "delta": asked.delta,
        "state": run.state,
        "charges": len(run.charges),
        "budget": {"epsilon": asked.epsilon, "delta": asked.delta},
    }


def _print(content: dict[str, Any]) -> None:
    console = printer()
    table = Table(title=f"Ledger of {content['ledger']}", title_justify="left")
    for name in ("when", "model", "method", "group", "state"):
        table.add_column(name)
    for name in ("epsilon", "at delta"):
        table.add_column(name, justify="right")
    for run in content["runs"]:
        texts = [str(run[key] or "") for key in ("when", "model", "method", "group", "state")]
        table.add_row(*texts, round_up(run["epsilon"]), f"{run['delta']:g}")
    console.print(table)
    spent = content["spent"]
    mu = "" if spent["mu"] is None else f" (mu {round_up(spent['mu'])})"
    worst = ", of the group that pays most" if content["groups"] else ""
    console.print(
        f"All together: epsilon {_epsilon(spent['epsilon'])} at delta {spent['delta']:g}{mu}{worst}"
    )
    for group in content["groups"]:
        console.print(f"  group {group['group']}: epsilon {_epsilon(group['epsilon'])}")
    if content["groups"]:
        console.print(f"  who is in all groups: epsilon {_epsilon(content['undivided']['epsilon'])}")
    cap = content["cap"]
    console.print("No cap" if cap is None else f"Cap: epsilon {cap['epsilon']:g} at delta {cap['delta']:g}")
    console.print(f"Relation: {content['relation']}")
    if content["head"] is not None:
        console.print(f"Head: {content['head']} (keep it elsewhere; 'verify --head' finds a ledger set back)")


def _epsilon(value: float) -> str:
    return "infinite" if value == float("inf") else round_up(value)
