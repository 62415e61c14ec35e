"""A plan in words: from which epsilon on it is worth it."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.planning.result import Plan
from discreet.planning.sizes import USUAL_SPREAD
from discreet.privacy.accounting import epsilon_from, mu_from

__all__ = ["epsilon_with_more", "recommendation", "reservations"]

_HALF, _MOST = 0.5, 0.9


def epsilon_with_more(epsilon: float, delta: float, factor: float) -> float:
    """The epsilon that has the same noise for each user where there are ``factor`` times as many users."""
    return epsilon_from(mu_from(epsilon, delta) / factor, delta)


def recommendation(plan: Plan) -> list[str]:
    """Whole sentences."""
    return list(_sentences(plan))


def reservations(plan: Plan) -> list[str]:
    """What to keep in mind about the numbers, in whole sentences."""
    sizes = plan.sizes
    said = [
        "No rating was read and nothing was spent: this follows from the numbers that you typed, and from three "
        "made-up markets with little, usual and much taste in them. Your ratings may be easier or harder than any "
        "of them."
    ]
    if plan.simulated_users < sizes.users:
        factor = sizes.users / plan.simulated_users
        said.append(
            f"{plan.simulated_users:,} of {sizes.users:,} users were simulated, with {factor:.3g} times less noise, "
            "so that each item has the same noise for each user who rates it. Fewer users also stand less well for "
            "everybody, so the truth is a little better than this."
        )
    if sizes.goal == "rate" and sizes.spread is None:
        said.append(
            "Errors grow with how much ratings vary, which is assumed to be usual (a standard deviation of "
            f"{USUAL_SPREAD:g} of the range); between published sets it differs by a tenth up and down."
        )
    if sizes.goal == "rank":
        said.append(
            "How high recall is differs from catalogue to catalogue by more than privacy changes it: look at the way "
            "from popularity to the model without privacy, not at the numbers themselves."
        )
    return said


def _sentences(plan: Plan) -> Iterator[str]:
    base, count = plan.baseline.name, len(plan.markets)
    if not plan.worth:
        yield (
            f"Even without privacy a model is no better than {base} in every market of this size: more ratings a user "
            "or more users would help, not a larger epsilon."
        )
        return
    none = [one for one in plan.private if plan.better(one) == 0]
    every = [one for one in plan.private if plan.better(one) == count]
    if len(none) == len(plan.private):
        largest = plan.private[-1].epsilon
        yield (
            f"Up to epsilon {largest:g} a private model is no better than {base}. Do not train at these budgets: "
            "get more users."
        )
        return
    if none:
        yield f"Up to epsilon {none[-1].epsilon:g} a private model is no better than {base}."
    if every:
        yield f"From epsilon {every[0].epsilon:g} on it is better than {base} in every market."
    else:
        yield f"At no epsilon here is it better than {base} in every market."
    way = "of the way from there to a model without privacy"
    for share, words in ((_HALF, "half"), (_MOST, "nine tenths")):
        reached = [one for one in plan.private if (plan.gain(one) or 0.0) >= share]
        if reached:
            yield f"From epsilon {reached[0].epsilon:g} on it has gone {words} {way}."
        else:
            yield f"No epsilon here brings it {words} {way}."
            break
    good = [one for one in plan.private if (plan.gain(one) or 0.0) >= _HALF] or every
    if good:
        epsilon = good[0].epsilon
        assert epsilon is not None
        less = epsilon_with_more(epsilon, plan.delta, 2.0)
        yield (
            f"A place to start: epsilon {epsilon:g}. With twice as many users the same would cost epsilon {less:.2g}."
        )
