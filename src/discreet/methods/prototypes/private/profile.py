"""A silo's profile: how items are rated beside each user's own level, and how groups of users differ from it.

Everything that is released goes through the gate, and what is asked next follows from settings and from what was
released before. Proof note: ``proofs/prototypes.md``, "Deviations from the own level".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet import kernels
from discreet.data.ratings import Ratings
from discreet.methods.prototypes.private.deviations import OwnRatings
from discreet.methods.prototypes.private.lloyd import Plan, noisy_centres, refuse_small
from discreet.methods.prototypes.private.projection import project_directions
from discreet.methods.prototypes.public.evidence import Evidence
from discreet.methods.prototypes.public.group_count import count_groups
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.mechanism import release
from discreet.privacy.gaussian.scaled_clusters import ScaledClusterSums
from discreet.privacy.gaussian.tallies import ItemTallies, MeanOfMeans, NoisyTallies

__all__ = ["ProfilePlan", "release_profile"]

# Of what the count has in settings, the number of users gets this share of mu^2 and their level the rest; of what
# clusters have, the steps this share and the groups' values the rest.
_COUNT = 0.5
_STEPS = 0.4


@dataclass(frozen=True)
class ProfilePlan:
    """How mu is split. Squares add up to the budget's, whether groups are looked for or the items asked again."""

    count: float
    level: float
    items: float
    steps: tuple[float, ...]
    groups: float

    @classmethod
    def of(cls, settings: PrototypeSettings, budget: Budget) -> ProfilePlan:
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


def release_profile(
    gate: Gate,
    ratings: Ratings,
    settings: PrototypeSettings,
    budget: Budget,
    least: Callable[[float], int],
    progress: Callable[[str], None] | None = None,
) -> Evidence:
    """The whole pipeline, every release through this gate."""
    own, plan = OwnRatings(ratings, settings), ProfilePlan.of(settings, budget)
    users = refuse_small(gate, ratings.n_users, plan.count, least)
    level = release(gate, "level", MeanOfMeans(), own.pattern, own.values, mu=plan.level)
    away = own.deviations(level)
    tallies = ItemTallies(own.pattern.n_items)
    first = release(gate, "items", tallies, own.pattern, away, mu=plan.items)
    groups = settings.prototypes
    if groups == "auto":
        groups = count_groups(first.weights, first.weight_sigma, users, plan.groups)
    if groups == 1:
        if progress is not None:
            progress("one profile for all")
        second = release(gate, "items again", tallies, own.pattern, away, mu=plan.again)
        return Evidence.of(level, plan.level, users, _together(first, second))
    # One half of a user's ratings says which group, the other what the group is like: else groups that follow the
    # scatter of single ratings would seem to explain it.
    points = project_directions(
        own.rows(np.where(own.half, away, 0.0)),
        settings.n_dimensions(own.pattern.n_items, level=True),
        (settings.seed, 0),
    )
    centres, sizes = noisy_centres(gate, points, groups, plan.steps, settings.seed, progress)
    sums = ScaledClusterSums(own.pattern.n_items, groups)
    nearest = kernels.nearest_centres(points, centres)
    found = release(gate, "groups", sums, own.pattern, np.where(own.half, 0.0, away), nearest, mu=plan.groups)
    return Evidence.of(level, plan.level, users, first, found, sizes)


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
