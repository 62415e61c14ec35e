"""A plan: what was found on the made-up markets, as numbers, in words and as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from discreet.pictures import Axis, Chart
from discreet.planning.worlds import USUAL_SPREAD, Sizes
from discreet.privacy.accounting import epsilon_from, mu_from

__all__ = ["AT", "Outcome", "Plan", "chart", "recommendation", "reservations"]

_HALF, _MOST = 0.5, 0.9
AT = 20
"""Length of the lists, where the goal is to rank."""


@dataclass(frozen=True)
class Outcome:
    """A way to predict, and its score in each market; ``None`` where the budget was too small to train with."""

    name: str
    epsilon: float | None
    scores: tuple[float | None, ...]

    @property
    def known(self) -> list[float]:
        """Scores of the markets that could be trained on."""
        return [score for score in self.scores if score is not None]

    @property
    def mean(self) -> float | None:
        """Over the markets; ``None`` where one of them could not be trained on."""
        return fmean(self.known) if len(self.known) == len(self.scores) else None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        known = self.known if self.mean is not None else []
        return {
            "name": self.name,
            "epsilon": self.epsilon,
            "mean": self.mean,
            "lowest": min(known, default=None),
            "highest": max(known, default=None),
            "markets": list(self.scores),
        }


@dataclass(frozen=True)
class Plan:
    """Expected quality against epsilon: baselines without a model, and models, the private ones by rising epsilon."""

    sizes: Sizes
    delta: float
    simulated_users: int
    markets: tuple[str, ...]
    baselines: tuple[Outcome, ...]
    not_private: Outcome
    private: tuple[Outcome, ...]
    seconds: float

    @property
    def measure(self) -> str:
        """What models are judged by."""
        return "rmse" if self.sizes.goal == "rate" else f"recall@{AT}"

    @property
    def baseline(self) -> Outcome:
        """The best that is to be had without learning about tastes."""
        return self.baselines[-1]

    def gain(self, outcome: Outcome) -> float | None:
        """Which share of the way from the baseline to the model without privacy was gone, over all markets."""
        if outcome.mean is None or outcome.mean == self.baseline.mean:
            return None if outcome.mean is None else 0.0
        assert self.baseline.mean is not None
        assert self.not_private.mean is not None
        way = self.not_private.mean - self.baseline.mean
        return (outcome.mean - self.baseline.mean) / way if self.worth else None

    @property
    def worth(self) -> bool:
        """Whether a model without privacy is better than the baseline at all."""
        return self.better(self.not_private) == len(self.markets)

    def better(self, outcome: Outcome) -> int:
        """In how many markets a way is better than the baseline."""
        sign = -1.0 if self.sizes.goal == "rate" else 1.0
        pairs = zip(outcome.scores, self.baseline.scores, strict=True)
        return sum(
            one is not None and other is not None and sign * (one - other) > 0.0 for one, other in pairs
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        sizes = asdict(self.sizes)
        sizes["rating_range"] = None if self.sizes.rating_range is None else list(self.sizes.rating_range)
        return {
            **sizes,
            "delta": self.delta,
            "measure": self.measure,
            "simulated": {
                "users": self.simulated_users,
                "noise_divided_by": self.sizes.users / self.simulated_users,
                "markets": list(self.markets),
            },
            "baselines": [one.to_dict() for one in self.baselines],
            "not_private": self.not_private.to_dict(),
            "private": [{**one.to_dict(), "gain": self.gain(one)} for one in self.private],
            "seconds": round(self.seconds, 3),
        }


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


def recommendation(plan: Plan) -> list[str]:
    """From which epsilon on it is worth it, in whole sentences."""
    return list(_sentences(plan))


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
        less = epsilon_from(mu_from(epsilon, plan.delta) / 2.0, plan.delta)
        yield (
            f"A place to start: epsilon {epsilon:g}. With twice as many users the same would cost epsilon {less:.2g}."
        )


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
