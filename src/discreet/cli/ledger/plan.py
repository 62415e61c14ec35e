"""``discreet ledger plan``: what further runs would come to, and what fits."""

from __future__ import annotations

from typing import Any

import click
from rich.table import Table

from discreet.cli.ledger.options import cap_fields, fields
from discreet.cli.ledger_option import LEDGER_VARIABLE
from discreet.cli.output import json_option, print_json, printer
from discreet.errors import BudgetInvalid
from discreet.privacy.account.account import Account
from discreet.privacy.account.ledger_file import LedgerFile
from discreet.privacy.account.plan import Plan
from discreet.privacy.accounting import round_up
from discreet.privacy.budget import Budget

__all__ = ["plan_command"]


@click.command("plan")
@click.argument("file", metavar="[FILE]", envvar=LEDGER_VARIABLE, required=False)
@click.option(
    "--runs", type=click.IntRange(1, 1_000_000), default=12, show_default=True, help="Further runs."
)
@click.option("--epsilon", default="1", show_default=True, help="Of each run.")
@click.option("--delta", default="1e-6", show_default=True, help="Of each run.")
@click.option("--group", metavar="NAME", help="Plan for this group of the ledger.")
@click.option("--cap-epsilon", help="A cap to plan with; the ledger's own if left out.")
@click.option("--cap-delta", help="Of the cap; --delta if left out.")
@json_option
def plan_command(
    file: str | None,
    runs: int,
    epsilon: str,
    delta: str,
    group: str | None,
    cap_epsilon: str | None,
    cap_delta: str | None,
    as_json: bool,
) -> None:
    """Say what further runs on the same ratings come to, what is left, and at which epsilon they would fit.

    Without FILE the plan begins with nothing spent.

    \b
    Example, twelve monthly runs at epsilon 1 under a yearly cap of 4:
      discreet ledger plan shop.ledger --runs 12 --epsilon 1 --delta 1e-6 --cap-epsilon 4
    """
    account = Account("", "") if file is None else LedgerFile(file).account()
    if cap_epsilon is None and cap_delta is not None:
        raise BudgetInvalid("--cap-delta without --cap-epsilon: a cap has both")
    cap = account.cap if cap_epsilon is None else Budget.parse(cap_epsilon, cap_delta or delta)
    budget = Budget.parse(epsilon, delta)
    plan = Plan(account.cost(group), budget, runs)
    content = _content(plan, cap, cap.delta if cap is not None else max(budget.delta, account.delta))
    if as_json:
        print_json(content)
    else:
        _print(content)


def _content(plan: Plan, cap: Budget | None, delta: float) -> dict[str, Any]:
    content: dict[str, Any] = {
        "runs": plan.runs,
        "epsilon": plan.budget.epsilon,
        "delta": plan.budget.delta,
        "together": fields(plan.together, delta),
        "spent": fields(plan.spent, delta),
        "after": fields(plan.after, delta),
        "cap": cap_fields(cap),
        "fits": None,
        "left": None,
    }
    if cap is not None:
        content["fits"] = plan.after.within(cap)
        content["left"] = {
            "runs": plan.runs_that_fit(cap),
            "epsilon_of_one_run": plan.epsilon_each(cap, 1),
            "epsilon_of_each": plan.epsilon_each(cap, plan.runs),
        }
    return content


def _print(content: dict[str, Any]) -> None:
    runs, left = content["runs"], content["left"]
    table = Table(
        title=f"{runs} runs at epsilon {content['epsilon']:g}, delta {content['delta']:g}",
        title_justify="left",
        show_header=False,
    )
    delta = content["together"]["delta"]
    for words, cost in (
        (f"spent so far, epsilon at delta {delta:g}", content["spent"]),
        (f"the {runs} runs together", content["together"]),
        ("all of it", content["after"]),
    ):
        table.add_row(words, round_up(cost["epsilon"]) if cost["epsilon"] < float("inf") else "infinite")
    if left is not None:
        table.add_row("cap", f"{content['cap']['epsilon']:g}")
        table.add_row("fits under the cap", "yes" if content["fits"] else "no")
        table.add_row("left: runs of this budget", f"{left['runs']:,}")
        table.add_row("left: epsilon of one run", _down(left["epsilon_of_one_run"]))
        table.add_row(f"left: epsilon of each of {runs} runs", _down(left["epsilon_of_each"]))
    printer().print(table)


def _down(epsilon: float) -> str:
    """Four digits, cut off: what is typed from here must fit."""
    text = f"{epsilon:.4g}"
    return text if float(text) <= epsilon else f"{epsilon - 10.0 ** (len(str(int(epsilon))) - 4):.4g}"
