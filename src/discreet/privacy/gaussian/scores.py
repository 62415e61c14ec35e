"""How good a released model is for the people in the data: one loss for each user, summed.

The proof note is ``proofs/scores.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.privacy.gaussian.blocks import Block, UserVector
from discreet.privacy.gaussian.grid import LOSS
from discreet.types import Bools, Floats

__all__ = ["LossAndCount", "NoisyLoss"]


_COUNT = 0.25
# A loss less 1/2 and the count, as a vector: (1/2)^2 + (1/4)^2 = 5/16.
_BOUND = 5.0**0.5 / 4.0
# A number of users that does not stand this many deviations out of the noise is taken for that many.
_STANDS_OUT = 4.0


class NoisyLoss(NamedTuple):
    """Noisy sum over users of their loss less 1/2 (lower is better), and the mean loss that follows, in [0, 1]."""

    total: float
    mean: float


@dataclass(frozen=True)
class LossAndCount:
    """The sum of all users' losses, each between 0 and 1, and the number of users who have one.

    Notes
    -----
    **Privacy**. Unit: one user. A user with a loss adds (loss - 1/2, 1/4): the L2 change is at most sqrt(5) / 4.
    Others add nothing. A loss outside [0, 1] is clipped, and what is no number counts as the worst.
    """

    def blocks(self, losses: Floats, active: Bools) -> list[Block]:
        """From one loss for each user, and who has one."""
        clipped = np.clip(np.nan_to_num(losses, nan=1.0, posinf=1.0, neginf=0.0), 0.0, 1.0)
        rows = np.column_stack([clipped - 0.5, np.full(len(losses), _COUNT)]) * active[:, None]
        return [UserVector("loss and count", _BOUND * LOSS, np.trunc(rows * LOSS).astype(np.int32))]

    def empty(self) -> list[Block]:
        """Nobody's."""
        return self.blocks(np.zeros(0), np.zeros(0, dtype=np.bool_))

    def read(self, released: Mapping[str, Floats], mu: float) -> NoisyLoss:
        """The sum, and the mean."""
        total, count = released["loss and count"] / LOSS
        users = max(count, _STANDS_OUT * _BOUND / mu) / _COUNT
        return NoisyLoss(float(total), float(min(max(0.5 + total / users, 0.0), 1.0)))
