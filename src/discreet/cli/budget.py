"""``discreet budget``: what a privacy budget buys."""

from __future__ import annotations

import math

from discreet.cli.output import Output, print_json, show_table
from discreet.cli.request import option, takes
from discreet.privacy.accounting import epsilon_renyi, mu_renyi
from discreet.privacy.budget import Budget

__all__ = ["command"]


class _Asked(Output):
    epsilon: str = option("Privacy parameter epsilon, above 0.")
    delta: str = option("Privacy parameter delta, between 0 and 1; well below 1 / users.")
    releases: int = option("Releases to plan for.", 1, ge=1)


@takes(_Asked, "budget")
def command(request: _Asked) -> None:
    """Show the mu that a budget buys, and the noise each release needs.

    mu is the one number that adds up (its squares do) over Gaussian releases. The conversion is exact; the
    Rényi conversion that papers use is shown beside it, with the extra noise it would have asked for.

    \b
    Example:
      discreet budget --epsilon 1 --delta 1e-6 --releases 6
    """
    budget, releases = Budget.parse(request.epsilon, request.delta), request.releases
    mu, renyi = budget.mu, mu_renyi(budget.epsilon, budget.delta)
    plan = {
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "mu": mu,
        "renyi": {"mu": renyi, "epsilon_of_mu": epsilon_renyi(mu, budget.delta), "noise_ratio": mu / renyi},
        "releases": releases,
        "mu_per_release": mu / math.sqrt(releases),
        "noise_multiplier": math.sqrt(releases) / mu,
    }
    if request.as_json:
        print_json(plan)
        return
    facts = (
        ("mu (exact)", f"{mu:.6g}"),
        ("mu by the Rényi conversion", f"{renyi:.6g}  ({mu / renyi:.3f} times the noise)"),
        ("epsilon the Rényi conversion states for the exact mu", f"{epsilon_renyi(mu, budget.delta):.6g}"),
        (f"mu for each of {releases} equal releases", f"{plan['mu_per_release']:.6g}"),
        ("noise of each, in units of one user's largest change", f"{plan['noise_multiplier']:.6g}"),
    )
    show_table(facts, title=f"epsilon {budget.epsilon:g}, delta {budget.delta:g}")
