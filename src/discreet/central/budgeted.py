"""Budgeted private ALS, the default method: every user spends the whole budget and nothing is clipped away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.central.activity import release_activity
from discreet.central.settings import BudgetedSettings
from discreet.central.user_side import user_statistics
from discreet.data.ratings import Ratings
from discreet.errors import CatalogueMissing
from discreet.item_side import ItemSide
from discreet.item_side.plan import Activity, Plan
from discreet.item_side.popularity import Popularity
from discreet.item_side.update import Frame, first_offsets, first_popularity, refine
from discreet.model import Model
from discreet.privacy.blocks import Pattern
from discreet.privacy.budget import Budget
from discreet.privacy.contribution import RoundContribution, RoundStatistics, Units
from discreet.privacy.gate import Gate
from discreet.privacy.ledger import Ledger
from discreet.privacy.noise import Noise
from discreet.privacy.statement import Statement

__all__ = ["BudgetedALS"]

Floats = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]


class BudgetedALS:
    """Alternating least squares under user-level differential privacy."""

    def __init__(self, **settings: Any) -> None:
        self.settings = BudgetedSettings.checked(**settings)

    def fit(
        self,
        ratings: Ratings,
        budget: Budget,
        *,
        rng: np.random.Generator | int | None = None,
        progress: Progress | None = None,
        noise: Noise | None = None,
        watch: Callable[[ItemSide], None] | None = None,
    ) -> BudgetedALS:
        if ratings.catalogue is None:
            raise CatalogueMissing("no catalogue")
        run = _Run(self.settings, ratings, budget, np.random.default_rng(rng), noise, progress, watch)
        side = run.train()
        self.plan_ = run.plan
        self.side_ = side
        self.activity_ = run.activity
        return self


class _Run:
    """One training run; holds the ratings and is thrown away."""

    def __init__(self, settings, ratings, budget, rng, noise, progress, watch) -> None:
        self.settings = settings
        self.ratings = ratings
        self.pattern = Pattern(ratings.indptr, ratings.items, ratings.n_items)
        self.gate = Gate(Ledger(budget), noise)
        self.mu = budget.mu
        self.rng = rng
        self.progress = progress
        self.watch = watch

    def train(self) -> ItemSide:
        s = self.settings
        share = s.activity_share
        self.activity = release_activity(self.gate, self.ratings, self.mu * np.sqrt(share))
        self.plan = plan = make_plan(s, self.activity, self.ratings.n_items, self.mu, self.ratings.explicit)
        side, popularity, frame = self._first(np.sqrt(1 - share) * self.mu * np.sqrt(plan.shares[0]))
        if self.watch: self.watch(side)
        if plan.rank == 0:
            return side
        side, frame = self._start(side, popularity, frame)
        for t in range(plan.rounds):
            mu = np.sqrt(1 - share) * self.mu * np.sqrt(plan.shares[1 + t])
            exponent = s.item_exponent if s.item_exponent != "auto" else (0.25 if self.ratings.explicit else 0.0)
            c = popularity.positive()
            c = (c / c.mean()) ** -exponent
            statistics = self._release(f"round {t + 1}", side, frame, c, mu, s.weight_share, start=t == 0)
            side, frame, popularity = refine(side, frame, statistics, popularity, ratings=self.activity.ratings, start=t == 0, floor=s.signal_floor)
            if self.watch: self.watch(side)
        return side

    def _release(self, name, side, frame, weights, mu, weight_share, start) -> RoundStatistics:
        users = user_statistics(self.ratings, self.pattern, side, frame, start=start)
        order = len(frame.whiten)
        k = self.activity.ratings_per_user
        explicit = self.ratings.explicit
        counts = self.pattern.counts if explicit else (self.pattern.counts > 0).astype(float)
        typical = order * k * frame.residual**2
        m = (k if explicit else 1.0) * (order + 1)
        units = Units(
            weight=np.sqrt(k / (typical * weight_share / (1 - weight_share))),
            moment=m / np.sqrt(typical * self.settings.moment_share),
            curvature=None if self.settings.curvature == "shared" or order == 1 else np.sqrt(order**2 * k / typical),
        )
        contribution = RoundContribution.build(self.pattern, users.features, users.residuals, users.spread / frame.residual, counts, weights, units)
        return contribution.read(self.gate.release(name, contribution.blocks, mu=mu), mu)

    def _first(self, mu):
        r, a = self.ratings, self.activity
        m = r.n_items
        explicit = r.explicit
        centre = 0.5 * sum(r.rating_range) if explicit else 0.0
        side = ItemSide("explicit" if explicit else "implicit", centre, np.zeros(m), np.zeros((m, 0)), r.rating_range,
            offset_penalty=a.within / a.between, factor_penalty=self.settings.factor_penalty, gravity=0.0 if explicit else self.settings.gravity)
        frame = Frame(np.eye(1), float(np.sqrt(a.within)), a.ratings_per_user)
        if explicit:
            st = self._release("offsets", side, frame, np.ones(m), mu, self.settings.first_weight_share, False)
            side, pop, residual = first_offsets(side, frame, st, a.ratings)
            return side, pop, Frame(np.eye(1), residual, a.ratings_per_user)
        st = self._release("popularity", side, frame, np.ones(m), mu, 0.99, False)
        side, pop = first_popularity(side, st)
        return side, pop, frame

    def _start(self, side, popularity, frame):
        from dataclasses import replace
        rank = self.plan.rank
        factors = self.rng.standard_normal((side.n_items, rank))
        if not self.ratings.explicit:
            factors *= np.sqrt(side.offsets * side.offsets.mean())[:, None]
        side = replace(side, factors=factors, factor_penalty=frame.residual**2 if self.ratings.explicit else self.settings.factor_penalty)
        return side, Frame(np.eye(1 + rank), frame.residual, frame.ratings_per_user)


def make_plan(s, activity: Activity, n_items: int, mu: float, explicit: bool) -> Plan:
    from discreet.item_side.plan import difficulty
    A = difficulty(activity, n_items, mu)
    rank = s.rank if s.rank != "auto" else int(np.clip(round(0.25 / A), 0, 16))
    rounds = s.rounds if s.rounds != "auto" else 6
    if rank == 0:
        return Plan(0, 0, (1.0,))
    s0 = s.offset_share if s.offset_share != "auto" else 0.3
    g = s.growth ** np.arange(rounds)
    return Plan(rank, rounds, (s0, *((1 - s0) * g / g.sum())))
