"""What local methods are held against: the best model without privacy that as many trials find."""

from __future__ import annotations

import numpy as np

from discreet.data.ratings import Ratings
from discreet.evaluation import metrics
from reproduction.central.yardstick import FIRST, RATINGS, tune_yardstick
from reproduction.context import Context
from reproduction.local.crowd import Crowd
from reproduction.local.world import World

OPEN = "best without privacy"
_SHRINKAGE = (1.0, 1e6)
"""Ratings by which items' offsets are drawn to 0, from the first to the last; at the last it is the user's mean."""


def open_error(context: Context, world: World) -> float:
    """Test RMSE of ALS or of offsets, each tuned by as many trials, whichever is better on the validation split."""
    factors = tune_yardstick(
        context,
        world.heading,
        world.train,
        (world.train, world.valid),
        (world.train, world.test),
        space=RATINGS,
        trials=context.number_of_trials(),
        draws=1,
        first=FIRST,
    )
    offsets = tuned_offsets(world)
    return min((factors.valid, factors.value.mean), offsets)[1]


def tuned_offsets(world: World) -> tuple[float, float]:
    """Validation and test RMSE of user and item offsets without noise, shrunk by the best of as many trials."""
    tried = map(float, np.geomspace(*_SHRINKAGE, world.trials))
    errors = {shrinkage: offsets_error(world, shrinkage, world.valid) for shrinkage in tried}
    best = min(errors, key=lambda shrinkage: errors[shrinkage])
    return errors[best], offsets_error(world, best, world.test)


def offsets_error(world: World, shrinkage: float, test: Ratings) -> float:
    """RMSE of user and item offsets fitted in turn without noise, items drawn toward 0 as by so many ratings."""
    crowd = Crowd.of(world.train)
    items = np.zeros(crowd.n_items)
    seen = np.bincount(crowd.items, minlength=crowd.n_items)
    assert world.train.rating_range is not None
    users = np.full(crowd.size, 0.5 * sum(world.train.rating_range))
    rated = crowd.counts > 0
    for _ in range(8):
        users[rated] = crowd.total(crowd.values - items[crowd.items])[rated] / crowd.counts[rated]
        left = crowd.values - users[crowd.rows]
        items = np.bincount(crowd.items, weights=left, minlength=crowd.n_items) / (seen + shrinkage)
    rows = np.repeat(np.arange(crowd.size), np.diff(test.indptr))
    predicted = np.clip(users[rows] + items[test.items], *world.train.rating_range)
    return metrics.rmse(predicted, test.values)
