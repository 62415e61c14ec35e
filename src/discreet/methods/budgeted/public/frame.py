"""Public coordinates in which users state their features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.types import Floats

__all__ = ["Frame"]


@dataclass(frozen=True)
class Frame:
    """Public coordinates in which users state their features: ``phi = whiten @ (1, u)``.

    Parameters
    ----------
    whiten
        (1 + rank) square. The noise is the same in all directions of phi, so features should be about as
        large in all of them; the frame is taken from the previous round's released moment.
    residual
        Root mean square residual seen in the previous round (public estimate).
    power
        Mean square of each factor over what people take (public estimate): how much of a rating each explains.
    start
        Whether the factors are still a random start: then a step replaces them instead of adding to them.
    """

    whiten: Floats
    residual: float
    power: Floats
    start: bool = False

    @cached_property
    def unwhiten(self) -> Floats:
        """The inverse: from phi back to ``(1, u)``."""
        return np.asarray(np.linalg.inv(self.whiten), np.float64)

    @classmethod
    def first(cls, residual: float) -> Frame:
        """Of an item side without factors."""
        return cls(np.eye(1), residual, np.zeros(0))

    def degrees_of_freedom(self, counts: Floats, offset_penalty: float, factor_penalty: float) -> Floats:
        """How many of a user's ratings their own fitted numbers use up, from the number of ratings alone.

        A ridge regression of n ratings on a feature of mean square p uses ``n p / (n p + ridge)`` of one. Public but
        for the counts, so each user can work it out.
        """
        used = counts / (counts + offset_penalty)
        if not self.start:
            for power in self.power:
                used = used + counts * power / (counts * power + factor_penalty)
        return used
