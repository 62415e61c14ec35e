"""The rotated one-bit mechanism beside the papers' schemes; bytes of each over the wire; and lists."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.devices.device.question import Question
from discreet.devices.learner import Learner
from discreet.devices.simulation import fit
from discreet.devices.task import DeviceSettings
from discreet.errors import SettingsInvalid
from discreet.evaluation import metrics
from discreet.evaluation.metrics import hits
from discreet.model.item_side import ItemSide
from discreet.types import Floats
from reproduction.local.world import World


@dataclass(frozen=True)
class Traffic:
    """Bytes of one round."""

    scheme: str
    up: float
    down: int
    once: int
    information: float


def wire_array(array: npt.NDArray[np.floating]) -> bytes:
    """An array in single precision behind its shape."""
    rows, columns = array.shape
    return struct.pack("<II", rows, columns) + np.ascontiguousarray(array, dtype="<f4").tobytes()


def one_bit(task: str, number: int, device: bytes, bit: int) -> bytes:
    """A device's report as the collector takes it."""
    report = {"task": task, "round": number, "device": device.hex(), "bit": bit}
    return json.dumps(report, separators=(",", ":"), sort_keys=True).encode()


def clear_gradients(items: npt.NDArray[np.integer], gradients: Floats) -> bytes:
    """Hua et al.: a gradient for each rated item, with the item's number."""
    return np.ascontiguousarray(items, dtype="<u4").tobytes() + wire_array(gradients)


def noisy_everything(said: npt.NDArray[np.bool_], gradients: Floats) -> bytes:
    """The naive scheme: a bit and a gradient for every item."""
    return np.packbits(said).tobytes() + wire_array(gradients)


def traffic(counts: Sequence[int], items: int, rank: int, dimensions: int) -> list[Traffic]:
    """All schemes of the paper for devices with so many ratings each."""
    report = float(len(one_bit("films-2026", 10, bytes(16), 1)))
    profile = len(wire_array(np.zeros((items, rank))))
    reduced = len(wire_array(np.zeros((dimensions, rank))))
    sent = [len(clear_gradients(np.arange(count), np.zeros((count, rank)))) for count in counts]
    usual = float(np.mean(counts))
    everything = len(noisy_everything(np.zeros(items, dtype=bool), np.zeros((items, rank))))
    matrix = len(wire_array(np.zeros((dimensions, 1)))) - 8
    return [
        Traffic("private GD", report, profile, 0, 1.0),
        Traffic("private GD-DR, matrix sent", report, reduced, profile + 8 + matrix * items, 1.0),
        Traffic("private GD-DR, matrix from a seed", report, reduced, profile + 32, 1.0),
        Traffic("Hua et al.", float(np.mean(sent)), profile, 0, usual * (32.0 * rank + np.log2(items))),
        Traffic("naive", float(everything), profile, 0, items * (1.0 + 32.0 * rank)),
    ]


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


def f_scores(ranking: npt.NDArray[np.integer], reference: npt.NDArray[np.integer]) -> Floats:
    """For each user the harmonic mean of precision and recall of a list against a reference list.

    One row a user, item positions, -1 where fewer items were left. NaN where both lists are empty, 0 where one is.
    """
    if len(ranking) != len(reference):
        raise SettingsInvalid(f"{len(ranking)} lists cannot be compared with {len(reference)}")
    there = reference >= 0
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    found = hits(ranking, indptr, reference[there]).sum(axis=1)
    both = (ranking >= 0).sum(axis=1) + there.sum(axis=1)
    return np.asarray(np.divide(2.0 * found, both, out=np.full(len(ranking), np.nan), where=both > 0))


def error_distribution(predicted: Floats, actual: Floats, limits: Sequence[float]) -> Floats:
    """Share of ratings whose prediction is off by at most each of the limits."""
    errors = np.sort(np.abs(predicted - actual))
    if not len(errors):
        return np.full(len(limits), np.nan)
    return np.asarray(
        np.searchsorted(errors, np.asarray(limits, dtype=np.float64), side="right") / len(errors)
    )
