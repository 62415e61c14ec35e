"""Whole runs on neighbouring data: how far one user moves each release, in units of what it was charged."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import numpy as np

from discreet import Budget, Ratings
from discreet.privacy import Gate, Ledger
from discreet.privacy.gaussian import gate as gate_module
from discreet.privacy.gaussian.blocks import Block
from tests.privacy.worlds import Floats, Scales, distance

Train = Callable[[Ratings, Gate], object]
BUDGET = Budget(5.0, 1e-6)


class Recorder(Gate):
    """Keeps the exact sums of every release."""

    def __init__(self) -> None:
        self.scales = Scales()
        super().__init__(Ledger(BUDGET), self.scales)
        self.sums: list[list[Floats]] = []
        self.sigmas: list[list[Floats]] = []
        self.names: list[str] = []
        self.mus: list[float] = []

    def release(self, name: str, blocks: list[Block], *, mu: float, delta: float = 0.0) -> dict[str, Floats]:
        self.scales.drawn.clear()
        released = super().release(name, blocks, mu=mu, delta=delta)
        self.names.append(name)
        self.mus.append(mu)
        self.sums.append([array.copy() for array in released.values()])
        self.sigmas.append(list(self.scales.drawn))
        return released


class Replayer(Recorder):
    """Measures its own sums, but hands out what an earlier run released: the same public state for both."""

    def __init__(self, earlier: Recorder) -> None:
        super().__init__()
        self.earlier = earlier

    def release(self, name: str, blocks: list[Block], *, mu: float, delta: float = 0.0) -> dict[str, Floats]:
        released = super().release(name, blocks, mu=mu, delta=delta)
        known = self.earlier.sums[len(self.sums) - 1]
        return {key: array.copy() for key, array in zip(released, known, strict=True)}


def largest_moves(train: Train, ratings: Ratings, users: int = 12) -> dict[str, float]:
    """For each release the most that any of the first ``users`` users moves it by."""
    with mock.patch.object(gate_module, "_RESOLUTION", 2.0**200):
        full = Recorder()
        train(ratings, full)
        most = dict.fromkeys(full.names, 0.0)
        for user in range(users):
            less = Replayer(full)
            train(ratings.take_users(np.arange(ratings.n_users) != user), less)
            assert less.names == full.names
            assert less.mus == full.mus
            for name, one, other, sigma, mu in zip(
                full.names, full.sums, less.sums, full.sigmas, full.mus, strict=True
            ):
                most[name] = max(most[name], distance(one, other, sigma, mu))
    return most
