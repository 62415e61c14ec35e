"""Small worlds with hostile users in them, and what one user changes in a release.

A world is a fixed public state (item weights, units) and some users' private statistics. Neighbours are a world and
the same world without one user; both go through the real contribution code and the real gate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from unittest import mock

import numpy as np
import numpy.typing as npt

from discreet.privacy.budget import Budget
from discreet.privacy.gaussian import gate as gate_module
from discreet.privacy.gaussian.blocks import Block, Pattern
from discreet.privacy.gaussian.energy_scaled import EnergyScaledSums, Units
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.ledger import Ledger
from discreet.types import Floats

BUDGET = Budget(1.0, 1e-6)
LARGE = Budget(50.0, 1e-6)
MU = 0.01
"""Small enough that item weights over six decades still have noise above 1,024 steps."""


class Scales(Noise):
    """No noise at all, but a record of the scales that were asked for, in the order of the blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[Floats] = []

    def integers(self, sigma: Floats) -> Floats:
        self.drawn.append(sigma.copy())
        return np.zeros_like(sigma)

    def symmetric_integers(self, sigma: Floats, order: int) -> Floats:
        self.drawn.append(np.broadcast_to(sigma[:, None, None], (sigma.size, order, order)))
        return np.zeros((sigma.size, order, order))


@dataclass(frozen=True)
class World:
    """Users' private statistics and the public state they are seen in."""

    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    residuals: Floats
    features: Floats
    companions: Floats
    counted: bool
    item_weights: Floats
    units: Units

    @property
    def n_users(self) -> int:
        return len(self.features)

    def take(self, users: npt.ArrayLike) -> World:
        """The same public state with these users only, in this order."""
        rows = np.arange(self.n_users)[users]
        pairs = [np.arange(self.indptr[row], self.indptr[row + 1]) for row in rows]
        entries = np.concatenate([np.empty(0, np.int64), *pairs])
        return replace(
            self,
            indptr=np.concatenate([[0], np.cumsum([len(part) for part in pairs])]).astype(np.int64),
            items=self.items[entries],
            residuals=self.residuals[entries],
            features=self.features[rows],
            companions=self.companions[rows],
        )

    def without(self, user: int) -> World:
        """The neighbour that lacks one user."""
        return self.take(np.arange(self.n_users) != user)

    def blocks(self) -> list[Block]:
        """What the users hand to the gate."""
        pattern = Pattern(self.indptr, self.items, len(self.item_weights))
        counts = pattern.counts if self.counted else np.ones(self.n_users)
        mechanism = EnergyScaledSums(self.item_weights, self.units, self.features.shape[1])
        return mechanism.blocks(pattern, self.features, self.residuals, self.companions, counts)

    def neighbours(self) -> Iterator[float]:
        """For each user: how many units of the bound they move the release by."""
        full, sigmas = exact_release(self.blocks())
        for user in range(self.n_users):
            less, _ = exact_release(self.without(user).blocks())
            yield distance(full, less, sigmas)


def exact_release(blocks: list[Block], mu: float = MU) -> tuple[list[Floats], list[Floats]]:
    """The sums as the gate would release them but for the noise, and the scales of the noise it wanted."""
    noise = Scales()
    # Without noise the sums are compared exactly, so they must not be rounded to steps of the noise either.
    with mock.patch.object(gate_module, "_RESOLUTION", 2.0**200):
        released = Gate(Ledger(LARGE), noise).release("exact", blocks, mu=mu)
    return list(released.values()), noise.drawn


def distance(one: list[Floats], other: list[Floats], sigmas: list[Floats], mu: float = MU) -> float:
    """Length of the difference in standard deviations of the noise, divided by the mu that was paid.

    For a symmetric matrix the scale is that of the full matrix before it was symmetrised, and all entries count.
    """
    square = 0.0
    for a, b, sigma in zip(one, other, sigmas, strict=True):
        square += float((((a - b) / sigma.reshape(a.shape)) ** 2).sum())
    return float(np.sqrt(square)) / mu


def ordinary_world(rng: np.random.Generator, counted: bool) -> World:
    """Users as real ones are: some items each, moderate numbers, item weights within a factor of some four."""
    n, m, order = int(rng.integers(10, 25)), int(rng.integers(8, 30)), int(rng.integers(1, 6))
    counts = rng.integers(1, m + 1, n)
    pairs = int(counts.sum())
    return World(
        indptr=np.concatenate([[0], np.cumsum(counts)]),
        items=np.concatenate([np.sort(rng.choice(m, count, replace=False)) for count in counts]).astype(
            np.int32
        ),
        residuals=rng.standard_normal(pairs),
        features=rng.standard_normal((n, order)) + 0.3,
        companions=np.abs(rng.standard_normal(n)),
        counted=counted,
        item_weights=np.exp(rng.uniform(-0.7, 0.7, m)) * 10.0 ** rng.uniform(-3, 3),
        units=Units(*np.exp(rng.uniform(-1, 3, 2))),
    )


def hostile_world(rng: np.random.Generator, counted: bool) -> World:
    """Users made to break something, between ordinary ones, in a public state of extremes."""
    world = ordinary_world(rng, counted)
    m = len(world.item_weights)
    wide = 10.0 ** rng.uniform(-6, 6, 2)
    world = replace(
        world,
        item_weights=10.0 ** rng.uniform(-3, 3, m),
        units=Units(wide[0], wide[1]),
    )
    features, companions, residuals = (
        part.copy() for part in (world.features, world.companions, world.residuals)
    )
    for user, attack in enumerate(rng.permutation(len(_ATTACKS))[: world.n_users]):
        pairs = slice(world.indptr[user], world.indptr[user + 1])
        _ATTACKS[attack](features[user], companions[user : user + 1], residuals[pairs], rng)
    world = replace(world, features=features, companions=companions, residuals=residuals)
    return _with_extreme_counts(world)


def _with_extreme_counts(world: World) -> World:
    """The first user has every item, the second one item, the third none."""
    m, rest = len(world.item_weights), world.indptr[3]
    value = world.residuals[0]
    return replace(
        world,
        indptr=np.concatenate([[0, m, m + 1], world.indptr[3:] - rest + m + 1]),
        items=np.concatenate([np.arange(m), [m // 2], world.items[rest:]]).astype(np.int32),
        residuals=np.concatenate([np.full(m, value), [value], world.residuals[rest:]]),
    )


def _set(where: str, value: float, some: bool = False):  # type: ignore[no-untyped-def]
    """An attack that puts a value into all or one of the features, companions or residuals."""

    def attack(features: Floats, companion: Floats, residuals: Floats, rng: np.random.Generator) -> None:
        target = {"features": features, "companion": companion, "residuals": residuals}[where]
        target[slice(0, 1) if some else slice(None)] = value

    return attack


def _scale(where: str, factor: float):  # type: ignore[no-untyped-def]
    def attack(features: Floats, companion: Floats, residuals: Floats, rng: np.random.Generator) -> None:
        target = {"features": features, "companion": companion, "residuals": residuals}[where]
        target *= factor

    return attack


_ATTACKS = (
    _set("features", np.nan),
    _set("features", np.inf, some=True),
    _set("features", -np.inf),
    _set("features", 0.0),
    _set("residuals", 0.0),
    _set("residuals", np.nan, some=True),
    _set("residuals", np.inf),
    _set("residuals", -np.inf, some=True),
    _set("companion", np.nan),
    _set("companion", np.inf),
    _set("companion", 1e200),
    _scale("companion", 1e29),
    _scale("features", 1e12),
    _scale("features", 1e29),
    _scale("features", 1e40),
    _scale("features", 1e300),
    _scale("features", 1e-12),
    _scale("features", 1e-162),
    _scale("residuals", 1e12),
    _scale("residuals", 1e29),
    _scale("residuals", 1e200),
    _scale("residuals", 1e-300),
    _set("residuals", 1e12, some=True),
)
