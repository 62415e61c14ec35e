"""Another private clustering behind the same message: noisy Lloyd steps and Gaussian values, through the gate.

Proof note: ``proofs/prototypes.md``, last section.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet import kernels
from discreet.data.ratings import Ratings
from discreet.methods.prototypes.private.projection import project
from discreet.methods.prototypes.private.recovery import Prototypes, from_sums
from discreet.methods.prototypes.private.rows import rows_of, settle_bounds
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.methods.prototypes.too_few import TooFewUsers
from discreet.privacy.bounded_points import HALF_SIDE
from discreet.privacy.budget import Budget
from discreet.privacy.clusters import Clusters
from discreet.privacy.gaussian.cluster_sums import ClusterMeans, ClusterValues, UserCount
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.mechanism import release
from discreet.types import Floats, Ints

__all__ = ["Plan", "lloyd_prototypes", "noisy_centres", "refuse_small"]


# A new centre starts this far from the one it is split from, in radii.
_SPLIT = 0.1
# The ledger adds squares up; this much is left for the last bit.
_LEAVE = 1.0 - 1e-9


@dataclass(frozen=True)
class Plan:
    """How mu is split: the count, each step, the values. Squares add up to the budget's."""

    count: float
    steps: tuple[float, ...]
    values: float

    @classmethod
    def of(cls, settings: PrototypeSettings, budget: Budget, groups: int | None = None) -> Plan:
        """Partition and centres pay for the steps; support, values and sizes for the values.

        One group of users needs no steps to be found: the values get what they would have cost.
        """
        parts = settings.shares
        steps = parts.partition + parts.centres
        values = parts.support + parts.values + parts.sizes
        whole = parts.count + steps + values
        if groups == 1:
            square = (budget.mu * _LEAVE) ** 2 / whole
            return cls(math.sqrt(square * parts.count), (), math.sqrt(square * (steps + values)))
        growth = [settings.growth**number for number in range(settings.rounds)]
        square = (budget.mu * _LEAVE) ** 2 / whole
        return cls(
            count=math.sqrt(square * parts.count),
            steps=tuple(math.sqrt(square * steps * part / sum(growth)) for part in growth),
            values=math.sqrt(square * values),
        )


def lloyd_prototypes(
    gate: Gate,
    ratings: Ratings,
    settings: PrototypeSettings,
    budget: Budget,
    least: Callable[[float], int],
    progress: Callable[[str], None] | None = None,
) -> Prototypes:
    """The whole pipeline with Gaussian noise, every release through this gate."""
    bounds = settle_bounds(settings, ratings)
    groups = settings.n_groups(ratings.explicit)
    plan = Plan.of(settings, budget, groups)
    rows = rows_of(ratings, bounds, settings.seed)
    refuse_small(gate, rows.n_users, plan.count, least)
    points = project(rows, settings.n_dimensions(rows.n_items), (settings.seed, 0))
    centres, _ = noisy_centres(gate, points, groups, plan.steps, settings.seed, progress)
    clusters = Clusters(rows, kernels.nearest_centres(points, centres), len(centres))
    return _values(gate, clusters, settings, plan.values)


def noisy_centres(
    gate: Gate,
    points: Ints,
    count: int,
    mus: Sequence[float],
    seed: int,
    progress: Callable[[str], None] | None = None,
) -> tuple[Ints, Floats]:
    """Centres after a step for each mu, from public random starts; and how many users each had before the last."""
    rng = np.random.default_rng((seed, 0, 1))
    start = rng.standard_normal((count, points.shape[1])) / math.sqrt(points.shape[1])
    centres, sizes = _on_grid(start * _SPLIT), np.ones(count)
    for number, mu in enumerate(mus):
        if progress is not None:
            progress(f"step {number + 1} of {len(mus)}")
        centres, sizes = _step(gate, points, centres, mu, rng)
    return centres, sizes


def refuse_small(gate: Gate, n_users: int, mu: float, least: Callable[[float], int]) -> float:
    """The noisy number of users; a silo whose users do not stand out is refused."""
    noisy = release(gate, "silo count", UserCount(), n_users, mu=mu)
    if not noisy >= least(mu):
        raise TooFewUsers(
            f"this silo has too few users: a noisy count of {noisy:.0f}, where {least(mu)} are needed at this "
            "epsilon; join with another silo, or raise epsilon"
        )
    return noisy


def _step(
    gate: Gate, points: Ints, centres: Ints, mu: float, rng: np.random.Generator
) -> tuple[Ints, Floats]:
    """Each centre to the noisy mean of its users; one whose users are lost in the noise is set beside another."""
    k, dimension = centres.shape
    clusters = kernels.nearest_centres(points, centres)
    noisy = release(gate, "centre step", ClusterMeans(k, dimension), points / HALF_SIDE, clusters, mu=mu)
    moved = noisy.sums / np.maximum(noisy.counts, 1.0)[:, None]
    lost = ~(noisy.counts > noisy.count_sigma)
    if lost.any():
        # Split the crowded: a centre is drawn in proportion to its noisy size.
        odds = np.where(lost, 0.0, np.maximum(noisy.counts, 0.0))
        odds = odds / odds.sum() if odds.sum() > 0.0 else np.full(k, 1.0 / k)
        parents = rng.choice(k, size=int(lost.sum()), p=odds)
        beside = rng.standard_normal((len(parents), dimension)) * (_SPLIT / math.sqrt(dimension))
        moved[lost] = np.where(lost[parents, None], 0.0, moved[parents]) + beside
    return _on_grid(moved), noisy.counts


def _values(gate: Gate, clusters: Clusters, settings: PrototypeSettings, mu: float) -> Prototypes:
    """Sums of each cluster and item and the sizes they belong to, in one release."""
    rows, each_item = clusters.rows, settings.unrated == "missing"
    values = ClusterValues(rows.n_items, clusters.count, rows.bounds, each_item)
    noisy = release(gate, "values", values, clusters, mu=mu)
    return from_sums(
        noisy.sums,
        noisy.sizes,
        np.tile(np.arange(rows.n_items), (clusters.count, 1)),
        rows.n_items,
        rows.bounds,
        spread=noisy.size_sigma if each_item else None,
        noise=noisy.sum_sigma**2 if settings.shrink else None,
    )


def _on_grid(points: Floats) -> Ints:
    """Within the ball of the projected rows, as integers."""
    length = np.sqrt((points**2).sum(axis=1, keepdims=True))
    inside = points / np.maximum(length, 1.0)
    placed: Ints = np.trunc(inside * (HALF_SIDE - 1)).astype(np.int64)
    return placed
