"""What private models are held against: the best without privacy, tuned by as many trials as anything beside it.

That is ALS, or our default method without noise where that is better on the validation split: EASE for clicks, and for
ratings budgeted ALS, which shrinks item vectors by what they have in common.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.data.ratings import Ratings
from discreet.methods.als import ALS
from discreet.methods.budgeted.estimator import BudgetedALS
from discreet.methods.ease.estimator import EASE
from discreet.privacy.budget import Budget
from reproduction.context import Context
from reproduction.scoring import Draws, repeat, score
from reproduction.tuning import Space, choice, log_integer, log_uniform, search

NOT_PRIVATE = "not private"
QUIET = Budget(1e6, 1e-6)
"""So much that the noise does not show."""
RATINGS: Space = {
    "rank": log_integer(4, 32),
    "penalty": log_uniform(0.02, 3.0),
    "count_exponent": choice((0.5, 1.0)),
    "offset_penalty": log_uniform(0.02, 0.5),
    "rounds": choice((10, 15)),
}
"""What is searched where ratings have noise of their own."""
FIRST: Sequence[Mapping[str, Any]] = (
    {},
    {"rank": 16, "count_exponent": 1.0, "penalty": 0.075, "offset_penalty": 0.1},
    {"rank": 4, "count_exponent": 0.0, "penalty": 10.0, "offset_penalty": 5.0},
)
"""Tried before: the defaults, a penalty that grows with counts, and one that does not (items with few ratings)."""
NOISE_FREE: Space = {
    "rank": choice((1, 2, 5, 6)),
    "penalty": log_uniform(1e-8, 1e-2),
    "offset_penalty": log_uniform(1e-4, 1e3),
    "rounds": choice((15, 30)),
}
"""What is searched where a small rank explains every rating: hardly any penalty."""
CLICKS: Space = {
    "rank": log_integer(8, 48),
    "penalty": log_uniform(2.0, 60.0),
    "count_exponent": choice((0.0,)),
    "gravity": log_uniform(0.1, 1.0),
    "rounds": choice((10, 15)),
}

Pair = tuple[Ratings, Ratings]


@dataclass(frozen=True)
class Yardstick:
    """Its test score over some starts, the settings that were chosen, of how many, and their validation score."""

    value: Draws
    settings: Mapping[str, Any]
    trials: int
    valid: float


def tune_yardstick(
    context: Context,
    place: str,
    train: Ratings,
    valid: Pair,
    test: Pair,
    *,
    space: Space,
    trials: int,
    draws: int,
    first: Sequence[Mapping[str, Any]] = (),
) -> Yardstick:
    """Choose settings on the validation pair, score on the test pair; the pairs are history and what is predicted."""

    def scored(method: ALS, on: Pair, draw: int) -> float:
        return score(method.fit(train, rng=context.seed_for("als", draw)).model_, *on)

    def quiet(on: Pair, draw: int) -> float:
        if not train.explicit:
            return score(EASE().fit(train).model_, *on)
        return score(BudgetedALS().fit(train, QUIET, rng=context.seed_for("als", draw)).model_, *on)

    found = search(
        ALS,
        space,
        trials,
        lambda method: scored(method, valid, 0),
        context.rng("trials", place, "plain"),
        first=first,
        lower_is_better=train.explicit,
    )
    number, ours = len(found.trials) + 1, quiet(valid, 0)
    if ours < found.value if train.explicit else ours > found.value:
        chosen = {"budgeted": "next to no noise"} if train.explicit else {"ease": "no noise"}
        return Yardstick(repeat(lambda draw: quiet(test, draw), range(draws)), chosen, number, ours)
    best = repeat(lambda draw: scored(ALS(**found.settings), test, draw), range(draws))
    return Yardstick(best, found.settings, number, found.value)
