"""The rotated one-bit mechanism in the experiments on devices, beside the paper's schemes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.devices.device.question import Question
from discreet.devices.learner import Learner
from discreet.devices.schedule import DeviceSettings
from discreet.devices.simulation import fit
from discreet.evaluation import metrics
from discreet.model.item_side import ItemSide
from discreet.types import Floats
from reproduction.local.communication import Traffic, one_bit
from reproduction.local.world import World

ROTATED = "rotated (ours)"
UNTUNED = f"'{ROTATED}' runs with its defaults, untuned: popularity and item offsets, no factors."


def rotated_error(world: World, epsilon: float) -> float:
    """Test RMSE of one task with every user a device."""
    return metrics.rmse(rotated_predictions(world, epsilon), world.test.values)


def rotated_predictions(world: World, epsilon: float) -> Floats:
    """Of every test rating; each user's own offset follows from the user's training ratings."""
    side = _learn(world, epsilon)
    test, train = world.test, world.train
    users = np.repeat(np.arange(test.n_users), np.diff(test.indptr))
    return side.predict(side.fold_in(train.indptr, train.items, train.values), users, test.items)


def rotated_top(
    world: World, epsilon: float, users: npt.NDArray[np.integer], n: int
) -> npt.NDArray[np.int32]:
    """The best items for some users, without what they rated."""
    side = _learn(world, epsilon)
    rows = world.train.take_users(users)
    coefficients = side.fold_in(rows.indptr, rows.items, rows.values)
    return side.top(coefficients, n, (rows.indptr, rows.items))[0]


def rotated_traffic(items: int) -> Traffic:
    """Bytes of a round about item offsets, and of what is released at the end."""
    question = Question("films-2026", 10, "offsets", 1.0, "0" * 64, 16, items, 0, (1.0, 5.0), (0, 4))
    released = Learner("films-2026", items, (1.0, 5.0), 1.0, "0" * 64, DeviceSettings(goal="rate")).released()
    up = float(len(one_bit("films-2026", 10, bytes(16), 1)))
    return Traffic(ROTATED, up, len(question.to_json()), len(released), 1.0)


def _learn(world: World, epsilon: float) -> ItemSide:
    return fit(world.train, epsilon, goal="rate", rng=world.seed).model_.factors
