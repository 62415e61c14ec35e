"""What private models are held against: ALS for ratings and EASE for clicks, without privacy.

Their settings are the defaults, which follow from the data: no random search of 25 trials was ahead by 1 % (decision
42).
"""

from __future__ import annotations

from discreet.data.ratings import Ratings
from discreet.methods.als import ALS
from discreet.methods.ease.estimator import EASE
from reproduction.context import Context
from reproduction.scoring import Draws, repeat, score

NOT_PRIVATE = "not private"
Pair = tuple[Ratings, Ratings]


def yardstick(context: Context, train: Ratings, test: Pair, draws: int) -> Draws:
    """Scored on the pair (history and what is predicted), over some starts."""

    def once(draw: int) -> float:
        if not train.explicit:
            return score(EASE().fit(train).model_, *test)
        return score(ALS().fit(train, rng=context.seed_for("als", draw)).model_, *test)

    return repeat(once, range(draws))
