"""One run of DPALS: pre-processing, start, rounds. Holds the ratings, spends the budget, and is thrown away."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet import kernels
from discreet.data.ratings import Ratings
from discreet.methods.dpals.presets import NoisePlan
from discreet.methods.method import Progress, report
from discreet.methods.shared.private.sampling import draw_numbers, keep_lowest, sample_uniform
from discreet.methods.shared.public.spectrum import leading
from discreet.model.fold_in import Clicks, FoldIn, OwnMean
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.clipped import (
    clip_rows,
    release_co_moment,
    release_counts,
    release_mean,
    release_normal_equations,
)
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.pattern import Pattern
from discreet.types import Bools, Floats

if TYPE_CHECKING:
    from discreet.methods.dpals.estimator import DPALSSettings

__all__ = ["DPALSRun"]


class DPALSRun:
    """Algorithm 2, then algorithm 1.

    Parameters
    ----------
    settings, plan
        Public.
    ratings
        Private, over a public catalogue.
    gate
        Charged with what the plan says.
    rng
        Draws the start and the seed of the samples.
    progress
        Called with (stage, done, total).
    """

    def __init__(
        self,
        settings: DPALSSettings,
        plan: NoisePlan,
        ratings: Ratings,
        gate: Gate,
        rng: np.random.Generator,
        progress: Progress | None = None,
    ) -> None:
        self.settings = settings
        self.plan = plan
        self._ratings = ratings
        self._gate = gate
        self._rng = rng
        self._progress = progress
        self._seed = int(rng.integers(2**62))

    def train(self) -> ItemSide:
        """Spend what the plan says."""
        rounds = self.plan.rounds
        report(self._progress, 0, rounds + 1)
        counts, frequent = self._frequent_items()
        sample = self._sample(counts, frequent)
        if self.plan.counts > 1:
            counts = self._count("item counts of the sample", sample)
        centre = self._centre(sample)
        side = self._side(centre, frequent)
        side = _with(side, self._start(side, sample, frequent))
        for number in range(rounds):
            report(self._progress, number + 1, rounds + 1)
            side = _with(side, self._step(number, side, sample, counts, frequent))
        report(self._progress, rounds + 1, rounds + 1)
        return side

    def _count(self, name: str, sample: Ratings) -> Floats:
        counts = release_counts(self._gate, name, _pattern(sample), self.plan.most, mu=self.plan.mu_counts)
        return np.maximum(counts, 1.0)

    def _frequent_items(self) -> tuple[Floats, Bools]:
        """Noisy counts (ones where nothing needs them) and which items are trained. Public."""
        n_items = self._ratings.n_items
        counts = np.ones(n_items)
        if self.plan.counts:
            evenly = self._ratings.keep(sample_uniform(self._ratings, self.plan.most, self._seed))
            counts = self._count("item counts", evenly)
        frequent = np.zeros(n_items, dtype=bool)
        kept = int(np.ceil(self.settings.frequent_share * n_items))
        frequent[np.argsort(-counts, kind="stable")[:kept]] = True
        return counts, frequent

    def _sample(self, counts: Floats, frequent: Bools) -> Ratings:
        """The ratings that take part in the item step."""
        sample = self._ratings
        if not frequent.all():
            sample = sample.keep(frequent[sample.items])
        if self.settings.sampling == "tail":
            return sample.keep(keep_lowest(sample, counts[sample.items], self.plan.most))
        if self.settings.sampling == "uniform":
            return sample.keep(sample_uniform(sample, self.plan.most, self._seed + 1))
        return sample

    def _centre(self, sample: Ratings) -> float:
        """A charged estimate of the mean, or the middle of the range. Public."""
        if sample.rating_range is None:
            return 0.0
        low, high = sample.rating_range
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        if not self.plan.mean:
            return middle
        if self.settings.sampling == "weights":
            sample = sample.keep(sample_uniform(sample, self.plan.most, self._seed + 1))
        scaled = (sample.values - middle) / half
        return middle + half * release_mean(
            self._gate, "mean", _pattern(sample), scaled, self.plan.most, mu=self.plan.mu_mean
        )

    def _side(self, centre: float, frequent: Bools) -> ItemSide:
        settings, n_items = self.settings, self._ratings.n_items
        exponent = settings.user_exponent
        explicit = self._ratings.explicit
        penalty = settings.penalty / settings.typical_count**exponent
        rule: FoldIn = Clicks(settings.gravity, penalty, exponent)
        if explicit:
            rule = OwnMean((~frequent).astype(np.float64), penalty, exponent)
        empty = np.zeros(n_items), np.zeros((n_items, settings.rank))
        return ItemSide(self._ratings.scale, centre, *empty, rule)

    def _entry_clip(self, side: ItemSide) -> float:
        """Gamma_M: as set, or how far from the centre a rating can lie. Public."""
        if self.settings.entry_clip != "auto":
            return self.settings.entry_clip
        return side.scale.farthest(side.centre)

    def _start(self, side: ItemSide, sample: Ratings, frequent: Bools) -> Floats:
        settings = self.settings
        factors = np.zeros_like(side.factors)
        kept = int(frequent.sum())
        if settings.start == "random" or kept <= settings.rank:
            scale = settings.start_scale / np.sqrt(max(settings.rank, 1))
            factors[frequent] = scale * self._rng.standard_normal((kept, settings.rank))
        if settings.start == "random":
            return factors
        # Rows of at most k entries of size 1: their norm is at most sqrt(k), which becomes 1.
        values = self._targets(side, sample) / (self._entry_clip(side) * np.sqrt(self.plan.most))
        matrix = release_co_moment(
            self._gate, "spectral start", _pattern(sample), values, mu=self.plan.mu_start
        )
        if kept > settings.rank:
            _, vectors = leading(matrix[np.ix_(frequent, frequent)], settings.rank)
            factors[frequent] = vectors * (settings.start_scale * np.sqrt(kept / max(settings.rank, 1)))
        return factors

    def _targets(self, side: ItemSide, ratings: Ratings) -> Floats:
        return ratings.values - side.centre if ratings.explicit else np.ones(ratings.n_ratings)

    def _vectors(self, number: int, side: ItemSide) -> Floats:
        """Every user's vector, from their own ratings."""
        own = self._ratings
        if self.settings.split_users:
            place = (draw_numbers(own, self._seed + 2) >> np.uint64(32)) * np.uint64(self.plan.rounds)
            own = own.keep(place >> np.uint64(32) == number)
        return side.fold_in(own.indptr, own.items, own.values, kind=np.float32)[:, 1:]

    def _step(self, number: int, side: ItemSide, sample: Ratings, counts: Floats, frequent: Bools) -> Floats:
        settings, plan, clip = self.settings, self.plan, self._entry_clip(side)
        weights = np.ones(side.n_items)
        if settings.sampling == "weights":
            weights = (counts / counts[frequent].mean()) ** -settings.weight_exponent
        equations = release_normal_equations(
            self._gate,
            f"round {number + 1}",
            _pattern(sample),
            clip_rows(self._vectors(number, side), settings.row_clip) / settings.row_clip,
            self._targets(side, sample) / clip,
            plan.most,
            sigma_matrix=plan.sigma_matrix,
            sigma_vector=plan.sigma_vector,
            sigma_moment=plan.sigma_moment,
            item_weights=weights,
            fill=settings.sampling == "weights",
        )
        matrix = equations.matrix[frequent] * (weights[frequent] * settings.row_clip**2)[:, None, None]
        vector = equations.vector[frequent] * (weights[frequent] * settings.row_clip * clip)[:, None]
        if equations.moment is not None:
            matrix += (settings.gravity * settings.row_clip**2) * equations.moment
        ridge = counts[frequent] ** settings.item_exponent
        ridge *= settings.penalty / ridge.mean()
        factors = np.zeros_like(side.factors)
        factors[frequent] = _solve(matrix, vector, ridge, project=settings.project)
        return _orthonormal(factors, frequent) if settings.orthonormal else factors


def _solve(matrix: Floats, vector: Floats, ridge: Floats, *, project: bool) -> Floats:
    """(PSD(matrix) + ridge)^-1 vector, item by item: first the cone, then the ridge."""
    if project:
        ridges = np.broadcast_to(ridge[:, None], vector.shape).copy()
        return kernels.solve_items(matrix, vector, ridges)
    order = vector.shape[1]
    shifted = matrix + ridge[:, None, None] * np.eye(order)
    return np.asarray(np.linalg.solve(shifted, vector[:, :, None])[:, :, 0], dtype=np.float64)


def _orthonormal(factors: Floats, frequent: Bools) -> Floats:
    """V (V^T V)^(-1/2), times sqrt(items) so that a usual entry is about 1."""
    values, vectors = np.linalg.eigh(factors.T @ factors)
    usable = values > 1e-12 * max(float(values.max(initial=0.0)), 1e-300)
    root = np.where(usable, 1.0 / np.sqrt(np.where(usable, values, 1.0)), 0.0)
    product = factors @ ((vectors * root) @ vectors.T)
    return np.asarray(product * np.sqrt(frequent.sum()), dtype=np.float64)


def _pattern(ratings: Ratings) -> Pattern:
    return Pattern(ratings.indptr, ratings.items, ratings.n_items)


def _with(side: ItemSide, factors: Floats) -> ItemSide:
    return replace(side, factors=factors)
