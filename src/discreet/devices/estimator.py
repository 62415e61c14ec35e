"""What a server makes of one round's bits: exact sums as they come in, and an estimate at the end."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.devices.device.question import Question
from discreet.errors import SettingsInvalid
from discreet.kernels.devices import walsh_hadamard
from discreet.privacy.local.rotated import DeviceIds, as_ids, packed_signs, places
from discreet.types import Floats

__all__ = ["Estimator", "gain", "noise_variance"]


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
