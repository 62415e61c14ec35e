"""``discreet budget``: what a privacy budget buys."""

from __future__ import annotations

import math
from typing import Any

import click
from rich.table import Table

from discreet.cli.output import json_option, print_json, printer
from discreet.privacy.accounting import epsilon_renyi, mu_renyi
from discreet.privacy.budget import Budget

__all__ = ["command"]


@click.command("budget")
@click.option("--epsilon", required=True, help="Privacy parameter epsilon, above 0.")
@click.option(
    "--delta", required=True, help="Privacy parameter delta, between 0 and 1; well below 1 / users."
)
@click.option(
    "--releases", type=click.IntRange(min=1), default=1, show_default=True, help="Releases to plan for."
)
@json_option
def command(epsilon: str, delta: str, releases: int, as_json: bool) -> None:
    """Show the mu that a budget buys, and the noise each release needs.

    mu is the one number that adds up (its squares do) over Gaussian releases. The conversion is exact; the
    Rényi conversion that papers use is shown beside it, with the extra noise it would have asked for.

    \b
    Example:
      discreet budget --epsilon 1 --delta 1e-6 --releases 6
    """
    plan = _plan(Budget.parse(epsilon, delta), releases)
    if as_json:
        print_json(plan)
    else:
        _show(plan)


def _plan(budget: Budget, releases: int) -> dict[str, Any]:
    renyi = mu_renyi(budget.epsilon, budget.delta)
    return {
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "mu": budget.mu,
        "renyi": {
            "mu": renyi,
            "epsilon_of_mu": epsilon_renyi(budget.mu, budget.delta),
            "noise_ratio": budget.mu / renyi,
        },
        "releases": releases,
        "mu_per_release": budget.mu / math.sqrt(releases),
        "noise_multiplier": math.sqrt(releases) / budget.mu,
    }


def _show(plan: dict[str, Any]) -> None:
    table = Table(
        title=f"epsilon {plan['epsilon']:g}, delta {plan['delta']:g}", title_justify="left", show_header=False
    )
    renyi = plan["renyi"]
    table.add_row("mu (exact)", f"{plan['mu']:.6g}")
    table.add_row(
        "mu by the Rényi conversion", f"{renyi['mu']:.6g}  ({renyi['noise_ratio']:.3f} times the noise)"
    )
    table.add_row("epsilon the Rényi conversion states for the exact mu", f"{renyi['epsilon_of_mu']:.6g}")
    table.add_row(f"mu for each of {plan['releases']} equal releases", f"{plan['mu_per_release']:.6g}")
    table.add_row("noise of each, in units of one user's largest change", f"{plan['noise_multiplier']:.6g}")
    printer().print(table)
