"""A plan as a picture: quality against epsilon, beside what costs nothing and what privacy costs."""

from __future__ import annotations

from discreet.pictures import Axis, Chart
from discreet.planning.result import Plan

__all__ = ["chart"]


def chart(plan: Plan) -> Chart:
    """Private models with the range over the markets; baseline and the model without privacy as lines across."""
    drawn = [one for one in plan.private if one.mean is not None and one.epsilon is not None]
    values = [score for one in (*drawn, plan.baseline, plan.not_private) for score in one.known]
    rates = plan.sizes.goal == "rate"
    measure = "RMSE, less is better" if rates else f"{plan.measure}, more is better"
    x = Axis.by_factors("epsilon", [one.epsilon for one in plan.private if one.epsilon is not None])
    said = "; ".join(f"epsilon {one.epsilon:g}: {one.mean:.4f}" for one in drawn)
    words = (
        f"Expected {plan.measure} against epsilon: {said}; not private {plan.not_private.mean:.4f}; "
        f"{plan.baseline.name} {plan.baseline.mean:.4f}."
    )
    picture = Chart(x, Axis.over(measure, values), words)
    if drawn:
        ends = [(one.epsilon, min(one.known), max(one.known)) for one in drawn if one.epsilon is not None]
        picture.band(
            [(e, low) for e, low, _ in ends], [(e, high) for e, _, high in ends], "range over the markets"
        )
        means = [(one.epsilon, one.mean) for one in drawn if one.epsilon is not None and one.mean is not None]
        picture.line(means, "private, mean of the markets", 0)
    assert plan.not_private.mean is not None
    assert plan.baseline.mean is not None
    picture.level(plan.not_private.mean, "not private, mean", 2)
    picture.level(plan.baseline.mean, f"{plan.baseline.name}, mean", 1)
    return picture
