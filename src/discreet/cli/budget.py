"""``discreet budget``: what a privacy budget buys."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import Field
from rich.table import Table

from discreet.cli.output import Output, print_json, printer
from discreet.cli.request import Option, takes
from discreet.privacy.accounting import epsilon_renyi, mu_renyi
from discreet.privacy.budget import Budget

__all__ = ["Bought", "command"]


class Bought(Output):
    """What `budget` can be asked."""

    epsilon: Annotated[str, Option("Privacy parameter epsilon, above 0.")]
    delta: Annotated[str, Option("Privacy parameter delta, between 0 and 1; well below 1 / users.")]
    releases: Annotated[int, Field(ge=1), Option("Releases to plan for.")] = 1


@takes(Bought, "budget")
def command(request: Bought) -> None:
    """Show the mu that a budget buys, and the noise each release needs.

    mu is the one number that adds up (its squares do) over Gaussian releases. The conversion is exact; the
    Rényi conversion that papers use is shown beside it, with the extra noise it would have asked for.

    \b
    Example:
      discreet budget --epsilon 1 --delta 1e-6 --releases 6
    """
    plan = _plan(Budget.parse(request.epsilon, request.delta), request.releases)
    if request.as_json:
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
