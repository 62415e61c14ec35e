"""Ours behind the same message: noisy Lloyd steps and Gaussian sums, of ratings or of deviations from own levels.

Everything that is released goes through the gate, and what is asked next follows from settings and from what was
released before. Proof note: ``proofs/prototypes.md``, last two sections; docs/lab/prototypes.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.data.ratings import Ratings
from discreet.kernels import distances as kernels
from discreet.methods.prototypes.private.rows import (
    Prototypes,
    check_users,
    from_sums,
    project,
    project_directions,
    rows_of,
    settle_bounds,
)
from discreet.methods.prototypes.public.evidence import Evidence, count_groups
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.methods.shared.private import draw_numbers, sample_uniform
from discreet.privacy.bounded_rows import HALF_SIDE, BoundedRows, Clusters, RowBounds
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.blocks import Pattern
from discreet.privacy.gaussian.cluster_sums import ClusterMeans, ClusterValues, ScaledClusterSums, UserCount
from discreet.privacy.gaussian.gate import Gate, release
from discreet.privacy.gaussian.tallies import ItemTallies, MeanOfMeans, NoisyTallies
from discreet.types import Floats, Ints

__all__ = ["LevelPlan", "Plan", "lloyd_prototypes", "noisy_centres", "release_levels"]

# A new centre starts this far from the one it is split from, in radii.
_SPLIT = 0.1
# The ledger adds squares up; this much is left for the last bit.
_LEAVE = 1.0 - 1e-9
# Of what the count has in settings, the number of users gets this share of mu^2 and their level the rest; of what
# clusters have, the steps this share and the groups' values the rest.
_COUNT, _STEPS = 0.5, 0.4
# A user's own level is their mean, with so many ratings at the level of all beside it.
_STABILISER = 3.0


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
        square = (budget.mu * _LEAVE) ** 2 / (parts.count + steps + values)
        count = math.sqrt(square * parts.count)
        if groups == 1:
            return cls(count, (), math.sqrt(square * (steps + values)))
        each = math.sqrt(square * steps / settings.rounds)
        return cls(count, (each,) * settings.rounds, math.sqrt(square * values))


def lloyd_prototypes(gate: Gate, ratings: Ratings, settings: PrototypeSettings, budget: Budget) -> Prototypes:
    """Means of ratings over clusters that noisy Lloyd steps have found."""
    bounds = settle_bounds(settings, ratings)
    groups = settings.n_groups(ratings.explicit)
    plan = Plan.of(settings, budget, groups)
    rows = rows_of(ratings, bounds, settings.seed)
    _count(gate, rows.n_users, plan.count, settings)
    points = project(rows, settings.n_dimensions(rows.n_items), (settings.seed, 0))
    centres, _ = noisy_centres(gate, points, groups, plan.steps, settings.seed)
    clusters = Clusters(rows, kernels.nearest_centres(points, centres), len(centres))
    # Sums of each cluster and item and the sizes they belong to, in one release.
    values = ClusterValues(rows.n_items, clusters.count, rows.bounds)
    noisy = release(gate, "values", values, clusters, mu=plan.values)
    support = np.tile(np.arange(rows.n_items), (clusters.count, 1))
    return from_sums(
        *(noisy.sums, noisy.sizes, support, rows.n_items, rows.bounds),
        noise=noisy.sum_sigma**2 if settings.shrink else None,
    )


def noisy_centres(
    gate: Gate, points: Ints, count: int, mus: Sequence[float], seed: int
) -> tuple[Ints, Floats]:
    """Centres after a step for each mu, from public random starts; and how many users each had before the last."""
    rng = np.random.default_rng((seed, 0, 1))
    start = rng.standard_normal((count, points.shape[1])) / math.sqrt(points.shape[1])
    centres, sizes = _on_grid(start * _SPLIT), np.ones(count)
    for mu in mus:
        centres, sizes = _step(gate, points, centres, mu, rng)
    return centres, sizes


def _count(gate: Gate, n_users: int, mu: float, settings: PrototypeSettings) -> float:
    """The noisy number of users; a silo whose users do not stand out is refused."""
    noisy = release(gate, "silo count", UserCount(), n_users, mu=mu)
    check_users(noisy, settings.least_users(mu))
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


def _on_grid(points: Floats) -> Ints:
    """Within the ball of the projected rows, as integers."""
    length = np.sqrt((points**2).sum(axis=1, keepdims=True))
    inside = points / np.maximum(length, 1.0)
    placed: Ints = np.trunc(inside * (HALF_SIDE - 1)).astype(np.int64)
    return placed


@dataclass(frozen=True)
class LevelPlan:
    """How mu is split. Squares add up to the budget's, whether groups are looked for or the items asked again."""

    count: float
    level: float
    items: float
    steps: tuple[float, ...]
    groups: float

    @classmethod
    def of(cls, settings: PrototypeSettings, budget: Budget) -> LevelPlan:
        """The same shares of settings as for Lloyd steps over rows of ratings."""
        whole = Plan.of(settings, budget)
        clusters = math.sqrt(math.fsum(mu**2 for mu in whole.steps))
        return cls(
            count=whole.count * math.sqrt(_COUNT),
            level=whole.count * math.sqrt(1.0 - _COUNT),
            items=whole.values,
            steps=tuple(mu * math.sqrt(_STEPS) for mu in whole.steps),
            groups=clusters * math.sqrt(1.0 - _STEPS),
        )

    @property
    def again(self) -> float:
        """What steps and groups would have cost together."""
        return math.sqrt(math.fsum(mu**2 for mu in (*self.steps, self.groups)))


def release_levels(gate: Gate, ratings: Ratings, settings: PrototypeSettings, budget: Budget) -> Evidence:
    """How items are rated beside each user's own level, and how groups of users differ from that."""
    own, plan = _OwnRatings(ratings, settings), LevelPlan.of(settings, budget)
    users = _count(gate, ratings.n_users, plan.count, settings)
    level = release(gate, "level", MeanOfMeans(), own.pattern, own.values, mu=plan.level)
    away, n_items = own.deviations(level), own.pattern.n_items
    tallies = ItemTallies(n_items)
    first = release(gate, "items", tallies, own.pattern, away, mu=plan.items)
    groups = settings.prototypes
    if groups == "auto":
        groups = count_groups(first.weights, first.weight_sigma, users, plan.groups)
    if groups == 1:
        second = release(gate, "items again", tallies, own.pattern, away, mu=plan.again)
        return Evidence.of(level, plan.level, users, _together(first, second))
    # One half of a user's ratings says which group, the other what the group is like: else groups that follow the
    # scatter of single ratings would seem to explain it.
    halves = own.rows(np.where(own.half, away, 0.0)), settings.n_dimensions(n_items, level=True)
    points = project_directions(*halves, (settings.seed, 0))
    centres, sizes = noisy_centres(gate, points, groups, plan.steps, settings.seed)
    sums, nearest = ScaledClusterSums(n_items, groups), kernels.nearest_centres(points, centres)
    found = release(gate, "groups", sums, own.pattern, np.where(own.half, 0.0, away), nearest, mu=plan.groups)
    return Evidence.of(level, plan.level, users, first, found, sizes)


class _OwnRatings:
    """Ratings in units of half the range around its middle, and deviations from each user's own level.

    Notes
    -----
    **Privacy.** Unit: one user. Everything is a function of one user's ratings and of public numbers: element by
    element, or a sum along one user's segment. What is no number counts as the middle. Which half a rating is in is a
    hash of its own user's ratings.
    """

    def __init__(self, ratings: Ratings, settings: PrototypeSettings) -> None:
        if settings.max_ratings is not None:
            ratings = ratings.keep(sample_uniform(ratings, settings.max_ratings, settings.seed))
        low, high = ratings.scale.bounds
        half = (high - low) / 2.0
        cap = half if settings.entry_clip is None else min(half, settings.entry_clip)
        self._cap = cap / half
        indptr, items = ratings.indptr.astype(np.int64), ratings.items.astype(np.int64)
        self.pattern = Pattern(indptr, items, ratings.n_items)
        self.half = draw_numbers(ratings, settings.seed) % 2 == 1
        self.values = np.clip(np.nan_to_num((ratings.values - low) / half - 1.0), -1.0, 1.0)

    def deviations(self, level: float) -> Floats:
        """From the user's own level, which is drawn a little to `level`, the released one of all; in [-1, 1]."""
        counts = self.pattern.counts
        own = level + self.pattern.user_sums(self.values - level) / (counts + _STABILISER)
        away = self.values - np.repeat(own, np.diff(self.pattern.indptr))
        return np.clip(away, -self._cap, self._cap)

    def rows(self, deviations: Floats) -> BoundedRows:
        """The deviations as rows of integers, for the projection."""
        pattern = self.pattern
        bounds = RowBounds.of((-1.0, 1.0), centre=0.0, items=pattern.n_items)
        return BoundedRows.of(pattern.indptr, pattern.items, deviations, pattern.n_items, bounds)


def _together(first: NoisyTallies, second: NoisyTallies) -> NoisyTallies:
    """Two noisy versions of the same sums as one: each counts by the inverse of its variance."""
    parts = np.array([first.sum_sigma, second.sum_sigma]) ** -2.0
    one, other = parts / parts.sum()
    shrink = math.sqrt(one)
    return NoisyTallies(
        one * first.sums + other * second.sums,
        one * first.weights + other * second.weights,
        first.sum_sigma * shrink,
        first.weight_sigma * shrink,
    )
