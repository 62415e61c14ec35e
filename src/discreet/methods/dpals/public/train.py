"""DPALS as its public half sees it: algorithm 2 (pre-processing), then algorithm 1 (rounds).

Chien, Jain, Krichene, Rendle, Song, Thakurta, Zhang: "Private Alternating Least Squares" (ICML 2021), algorithms 1
and 2 with the practical loss (24), and the item weights of Krichene, Jain, Song, Sundararajan, Thakurta, Zhang:
"Multi-Task Differential Privacy Under Distribution Skew" (ICML 2023). Where the paper is unsafe or wrong as printed,
this is not as printed: see ``docs/decisions``.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np

from discreet import kernels
from discreet.methods.dpals.presets import NoisePlan
from discreet.methods.dpals.public.plan import make_plan
from discreet.methods.dpals.public.queries import (
    CountsQuery,
    MeanQuery,
    RoundQuery,
    Sampling,
    StartQuery,
)
from discreet.methods.dpals.settings import DPALSSettings
from discreet.methods.public_half import Facts, PublicHalf, Queries
from discreet.methods.query import Query, Trained
from discreet.methods.shared.public.sample import SampledCounts, UniformSample
from discreet.methods.shared.public.spectrum import leading
from discreet.model.fold_in import Clicks, FoldIn, OwnMean
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.clipped import NormalEquations
from discreet.types import Bools, Floats

__all__ = ["DPALS_HALF", "item_ridge", "solve", "train"]


def train(settings: DPALSSettings, facts: Facts, rng: np.random.Generator) -> Queries:
    """Counts, sample, centre, start, then one set of normal equations a round."""
    plan = make_plan(settings, facts)
    planned = plan.counts + int(plan.mean) + int(settings.start == "spectral") + plan.rounds
    seed = int(rng.integers(2**62))
    counts = np.ones(facts.n_items)
    if plan.counts:
        evenly = UniformSample(seed, plan.max_ratings)
        noisy = yield SampledCounts("item counts", plan.mu_counts, evenly, facts.n_items, planned=planned)
        counts = np.maximum(noisy.counts, 1.0)
    frequent = _frequent(settings, counts)
    sampling = Sampling(settings.sampling, seed, plan.max_ratings, counts, frequent.astype(np.float64))
    if plan.counts > 1:
        noisy = yield CountsQuery("item counts of the sample", plan.mu_counts, sampling, planned=planned)
        counts = np.maximum(noisy.counts, 1.0)
    centre = facts.scale.middle
    if plan.mean:
        mean = yield MeanQuery("mean", plan.mu_mean, sampling, planned=planned)
        centre = facts.scale.middle + facts.scale.half_width * mean
    side = _empty(settings, facts, centre, frequent)
    factors = yield from _start(settings, plan, sampling, side, frequent, rng, planned)
    side = replace(side, factors=factors)
    for number in range(plan.rounds):
        query = _round(settings, plan, sampling, side, counts, frequent, number, planned)
        equations = yield query
        factors = _solved(settings, query, equations, counts, frequent)
        side = replace(side, factors=factors)
    return Trained(side, plan.rounds)


def _frequent(settings: DPALSSettings, counts: Floats) -> Bools:
    """Which items are trained."""
    frequent = np.zeros(len(counts), dtype=bool)
    kept = int(np.ceil(settings.frequent_share * len(counts)))
    frequent[np.argsort(-counts, kind="stable")[:kept]] = True
    return frequent


def _empty(settings: DPALSSettings, facts: Facts, centre: float, frequent: Bools) -> ItemSide:
    exponent = settings.user_exponent
    penalty = settings.penalty / settings.typical_ratings**exponent
    rule: FoldIn = Clicks(settings.gravity, penalty, exponent)
    if facts.scale.explicit:
        rule = OwnMean((~frequent).astype(np.float64), penalty, exponent)
    empty = np.zeros(facts.n_items), np.zeros((facts.n_items, settings.rank))
    return ItemSide(facts.scale, centre, *empty, rule)


def _entry_clip(settings: DPALSSettings, side: ItemSide) -> float:
    """Gamma_M: as set, or how far from the centre a rating can lie."""
    return side.scale.farthest(side.centre) if settings.entry_clip == "auto" else settings.entry_clip


def _start(
    settings: DPALSSettings,
    plan: NoisePlan,
    sampling: Sampling,
    side: ItemSide,
    frequent: Bools,
    rng: np.random.Generator,
    planned: int,
) -> Generator[Query[Any], Any, Floats]:
    """Random factors, or eigenvectors of a released second moment."""
    factors = np.zeros_like(side.factors)
    kept = int(frequent.sum())
    if settings.start == "random" or kept <= settings.rank:
        scale = settings.start_scale / np.sqrt(max(settings.rank, 1))
        factors[frequent] = scale * rng.standard_normal((kept, settings.rank))
    if settings.start == "random":
        return factors
    moment = yield StartQuery(
        "spectral start", plan.mu_start, sampling, side.centre, _entry_clip(settings, side), planned=planned
    )
    if kept > settings.rank:
        _, vectors = leading(moment.matrix[np.ix_(frequent, frequent)], settings.rank)
        factors[frequent] = vectors * (settings.start_scale * np.sqrt(kept / max(settings.rank, 1)))
    return factors


def _round(
    settings: DPALSSettings,
    plan: NoisePlan,
    sampling: Sampling,
    side: ItemSide,
    counts: Floats,
    frequent: Bools,
    number: int,
    planned: int,
) -> RoundQuery:
    weights = np.ones(side.n_items)
    if settings.sampling == "weights":
        weights = (counts / counts[frequent].mean()) ** -settings.weight_exponent
    query = RoundQuery(
        f"round {number + 1}",
        0.0,
        number,
        plan.rounds,
        sampling,
        side,
        settings.row_clip,
        _entry_clip(settings, side),
        plan.sigma_matrix,
        plan.sigma_vector,
        plan.sigma_moment,
        weights,
        settings.split_users,
        planned=planned,
    )
    # The noise is what was planned; the cost follows from it.
    return query.at(query.mechanism.mu)


def _solved(
    settings: DPALSSettings,
    query: RoundQuery,
    equations: NormalEquations,
    counts: Floats,
    frequent: Bools,
) -> Floats:
    """Every trained item's vector from its noisy normal equations."""
    clip, weights = query.entry_clip, query.item_weights
    matrix = equations.matrix[frequent] * (weights[frequent] * settings.row_clip**2)[:, None, None]
    vector = equations.vector[frequent] * (weights[frequent] * settings.row_clip * clip)[:, None]
    if equations.moment is not None:
        matrix += (settings.gravity * settings.row_clip**2) * equations.moment
    ridge = item_ridge(settings, counts[frequent])
    factors = np.zeros_like(query.side.factors)
    factors[frequent] = solve(matrix, vector, ridge, project=settings.project)
    return _orthonormal(factors, frequent) if settings.orthonormal else factors


def item_ridge(settings: DPALSSettings, counts: Floats) -> Floats:
    """Penalty of each item: lambda c^mu / Z' of (24) in the paper's appendix, from released counts.

    The paper does not say what Z' is. In the authors' code it is the mean of c^mu over ratings: an item counts as often
    as it is rated.
    """
    powers = counts**settings.item_exponent
    return np.asarray(settings.penalty * powers / np.average(powers, weights=counts))


def solve(matrix: Floats, vector: Floats, ridge: Floats, *, project: bool) -> Floats:
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


def _numbers(settings: DPALSSettings, n_items: int) -> int:
    order = settings.rank
    entries = n_items * (order**2 + 2 * order + 8) + order**2 + 128
    return entries + n_items**2 if settings.start == "spectral" else entries


DPALS_HALF = PublicHalf(
    "dpals",
    DPALSSettings,
    train,
    (SampledCounts, CountsQuery, MeanQuery, StartQuery, RoundQuery),
    public=("all settings", "the random start of the factors"),
    numbers=_numbers,
)
