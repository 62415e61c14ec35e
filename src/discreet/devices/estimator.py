"""What a server makes of bits: exact sums as they come in, an estimate of a round, and what two estimates say together.

What two estimates say together is empirical Bayes on released numbers alone. An item's true share w and its offset beta
(in units of how much one user's ratings vary) are seen as w + noise and w * beta + noise, with known noise. Dividing
the second by the first fails where noise drowns w. Instead w is one of a grid of values with unknown frequencies, beta
is normal around a line in log w, and frequencies, line and spread are fitted to all items by
expectation-maximisation. What leaves is the mean of beta and of w given both numbers, which goes to the line's value,
and the line to nothing, as the noise grows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.devices.device.question import Question
from discreet.errors import SettingsInvalid
from discreet.kernels.devices import walsh_hadamard
from discreet.privacy.local.rotated import DeviceIds, as_ids, packed_signs, places
from discreet.types import Floats

__all__ = ["Estimator", "PosteriorMeans", "gain", "noise_variance", "posterior_means"]

# Sums are 32-bit integers; this many answers cannot overflow them.
_MOST_ANSWERS = (1 << 31) - 1


def gain(epsilon: float) -> float:
    """What one answer moves its estimate by, times the number of answers: sqrt(pi / 2) / (2 p - 1)."""
    return math.sqrt(math.pi / 2.0) / math.tanh(0.5 * epsilon)


def noise_variance(epsilon: float, answers: int) -> float:
    """Variance of one estimated coordinate, at most: (pi / 2) ((e^eps + 1) / (e^eps - 1))^2 / n."""
    return gain(epsilon) ** 2 / max(answers, 1)


class Estimator:
    """Estimate of the mean over devices of their unit vectors, from one bit each.

    Memory is ``rotations x dimension`` integers however many answers come in, and their order does not matter.
    The bias of the estimate and its variance are in ``privacy/local/proofs/rotated.md``.
    """

    def __init__(self, question: Question) -> None:
        self.question = question
        self.answers = 0
        self._sums = np.zeros((question.rotations, question.dimension), dtype=np.int32)

    def add(self, device_ids: DeviceIds, bits: npt.ArrayLike) -> None:
        """Count the bits (0 or 1) of the given devices."""
        ids, given = as_ids(device_ids), np.asarray(bits)
        if given.shape != (len(ids),) or not np.isin(given, (0, 1)).all():
            raise SettingsInvalid(f"one bit, 0 or 1, is needed for each of the {len(ids)} devices")
        if self.answers + len(ids) > _MOST_ANSWERS:
            raise SettingsInvalid(f"one round counts at most {_MOST_ANSWERS} answers")
        rotation, coordinate = places(self.question, ids)
        np.add.at(self._sums, (rotation, coordinate), 2 * given.astype(np.int32) - 1)
        self.answers += len(ids)

    def estimate(self) -> Floats:
        """The mean unit vector, one number for each coordinate of the question; zeros without answers."""
        size = self.question.dimension
        signs = packed_signs(self.question)
        total = np.zeros(size, dtype=np.int64)
        for rotation, sums in enumerate(self._sums):
            turned = sums.astype(np.int64)
            walsh_hadamard(turned)
            total += np.where(np.unpackbits(signs[rotation], count=size), -turned, turned)
        mean = total[: self.question.coordinates].astype(np.float64)
        mean *= gain(self.question.epsilon) / max(self.answers, 1)
        return mean


_GRID = 40
_ROUNDS = 5
_STEPS = 6
_SPREADS = np.array([0.0, 0.002, 0.005, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.45])
# Public guess of the variance of beta, which decides where the numbers say nothing. Smaller by a factor e costs a tenth
# of a unit of log-likelihood, larger by that much four: a guess that gives way upwards lets noise pass for large
# offsets (MovieLens 1M at epsilon 0.1: 0.3 % worse than no offsets).
_USUAL_SPREAD = 0.15
_SMALLER, _LARGER = 0.1, 4.0
# The mean of unit vectors is no longer than 1. Noise of this energy over all items leaves nothing of it; with less,
# offsets are shrunk in proportion: the model above is kinder to noise than data are (goodbooks: 0.1 % worse without).
_DROWNED = 8.0


class PosteriorMeans(NamedTuple):
    """Posterior means: of each item's offset, in units of one user's spread, and of its share."""

    offsets: Floats
    popularity: Floats


def posterior_means(
    popularity: Floats, popularity_variance: float, offsets: Floats, offsets_variance: float
) -> PosteriorMeans:
    """Posterior means for all items from two noisy numbers each, whose noise variances are known.

    Where the noise of the offsets exceeds whatever they could say, all are zero, and everybody is left with their own
    mean rating.
    """
    grid, seen = _shares(popularity, popularity_variance)
    slope = np.log(grid) - np.log(grid).mean()
    line, chance, spread = np.zeros(_GRID), np.full(_GRID, 1.0 / _GRID), _USUAL_SPREAD

    def joint(spread: float) -> Floats:
        """Items x grid: log-likelihood of each share, and of what was seen of the offset if it is the one."""
        total = offsets_variance + grid**2 * spread
        far = (offsets[:, None] - grid * line) ** 2 / total
        found: Floats = seen - 0.5 * (far + np.log(total)) + np.log(chance + 1e-300)
        return found

    def guess() -> tuple[Floats, Floats]:
        """Items x grid: how likely each share is, and the mean of beta if it is the one."""
        share = joint(spread)
        share -= share.max(axis=1, keepdims=True)
        np.exp(share, out=share)
        share /= share.sum(axis=1, keepdims=True)
        gain = grid * spread / (offsets_variance + grid**2 * spread)
        return share, line + gain * (offsets[:, None] - grid * line)

    def evidence(spread: float) -> float:
        found = joint(spread)
        largest = found.max(axis=1)
        likely = float((largest + np.log(np.exp(found - largest[:, None]).sum(axis=1))).sum())
        off = float(np.log(max(spread, 1e-3) / _USUAL_SPREAD))
        return likely - (_LARGER if off > 0.0 else _SMALLER) * off**2

    for _ in range(_ROUNDS):
        for _ in range(_STEPS):
            share, beta = guess()
            chance = share.mean(axis=0)
            line = _line(share, beta, slope)
        spread = max(_SPREADS, key=evidence)
    share, beta = guess()
    clear = max(0.0, 1.0 - offsets_variance * len(offsets) / _DROWNED)
    # Around a value of the grid what was seen counts, as far as its noise is below the gaps: without that, items of one
    # value would have no order, however well they are known.
    kept = _room(grid) / (_room(grid) + popularity_variance)
    expected = share @ (grid * (1.0 - kept)) + (share @ kept) * popularity
    return PosteriorMeans(clear * (share * beta).sum(axis=1), expected)


def _room(grid: Floats) -> Floats:
    """Variance of the shares that one value of the grid stands for: half of the gap to the next, squared."""
    room: Floats = (0.5 * (grid[1] / grid[0] - 1.0) * grid) ** 2
    return room


def _shares(popularity: Floats, variance: float) -> tuple[Floats, Floats]:
    """Shares that an item may have, and items x shares: the log-likelihood of what was seen of its popularity."""
    noise = np.sqrt(variance)
    top = 1.1 * max(float(popularity.max()), 2.0 * noise)
    grid = np.geomspace(max(0.05 * noise, 1e-4 * top), top, _GRID)
    total = variance + _room(grid)
    return grid, -0.5 * ((popularity[:, None] - grid) ** 2 / total + np.log(total))


def _line(share: Floats, beta: Floats, slope: Floats) -> Floats:
    mass, mean = share.sum(axis=0), (share * beta).sum(axis=0)
    design = np.column_stack([np.ones_like(slope), slope])
    normal = (design * mass[:, None]).T @ design + 1e-9 * np.eye(2)
    fitted: Floats = design @ np.linalg.solve(normal, design.T @ mean)
    return fitted
