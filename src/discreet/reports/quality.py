"""Quality on the holder's own ratings, beside baselines, with intervals over people. For the holder alone."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import RatingsInvalid
from discreet.evaluation import metrics
from discreet.evaluation.protocol import pairs
from discreet.evaluation.result import Measured
from discreet.model import Model
from discreet.types import Floats

__all__ = ["AT", "Quality", "quality_of"]

AT = 20
"""Length of the lists."""


@dataclass(frozen=True)
class Quality:
    """What the model does on test ratings.

    ``scores`` has one entry for the model and one for each baseline; ``better`` is how much better than the last
    baseline the model is, user by user.
    """

    measure: str
    lower_is_better: bool
    users: int
    ratings: int
    scores: dict[str, Measured]
    better: Measured

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)


def quality_of(model: Model, history: Ratings, test: Ratings) -> Quality:
    """Errors of predicted ratings, or recall of lists for a model that ranks.

    Notes
    -----
    **Privacy.** Depends on the ratings without any noise: for their holder, not to be published.
    """
    if test.n_ratings == 0:
        raise RatingsInvalid("the test has no ratings that could be used; nothing can be measured")
    ((rows, _),) = pairs(model, history, test)
    sizes = np.diff(test.indptr).astype(np.float64)
    if errors := model.goal == "rate":
        sums, owners = (
            _squares(model, history, rows, test),
            np.repeat(np.arange(len(sizes)), np.diff(test.indptr)),
        )
        sums = {name: np.bincount(owners, one, len(sizes)).astype(np.float64) for name, one in sums.items()}
    else:
        sums, sizes = _recalls(model, history, rows, test), np.minimum(sizes, 1.0)
    here = sizes > 0.0
    values, without = {}, {}
    for name, one in sums.items():
        left = np.maximum(one.sum() - one, 0.0)[here] / np.maximum((sizes.sum() - sizes)[here], 1.0)
        values[name] = float(one.sum() / sizes.sum())
        without[name] = left
        if errors:
            values[name], without[name] = math.sqrt(values[name]), np.sqrt(left)
    last, sign = list(values)[-1], 1.0 if errors else -1.0
    return Quality(
        measure="rmse" if errors else f"recall@{AT}",
        lower_is_better=errors,
        users=len(sizes) if errors else int(here.sum()),
        ratings=test.n_ratings,
        scores={name: _measured(value, without[name]) for name, value in values.items()},
        better=_measured(sign * (values[last] - values["model"]), sign * (without[last] - without["model"])),
    )


def _squares(model: Model, history: Ratings, rows: Ratings, test: Ratings) -> dict[str, Floats]:
    """Squared errors of the test ratings."""
    overall = metrics.global_mean(history)
    predicted = {
        "model": model.score_pairs(rows, test.indptr, test.items)[1],
        "global mean": np.full(len(test.values), overall),
        "user mean": np.repeat(metrics.user_means(rows, overall), np.diff(test.indptr)),
    }
    return {name: np.square(one - test.values) for name, one in predicted.items()}


def _recalls(model: Model, history: Ratings, rows: Ratings, test: Ratings) -> dict[str, Floats]:
    """Recall of each user; 0 for users without a test rating, who do not count."""
    lists = {
        "model": model.top_items(rows, AT),
        "popularity": metrics.popularity_ranking(history, rows, model.item_side.n_items, AT),
    }
    recalls = {name: metrics.recalls(one, test.indptr, test.items, AT) for name, one in lists.items()}
    return {name: np.nan_to_num(one) for name, one in recalls.items()}


def _measured(value: float, without: Floats) -> Measured:
    """With its 95 % interval; ``without`` is the same with each person left out (jackknife)."""
    people = len(without)
    reach = 1.96 * math.sqrt((people - 1) / people * float(np.square(without - without.mean()).sum()))
    return Measured(value, value - reach, value + reach)
