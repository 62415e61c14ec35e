"""The published methods, and what is tried for each of them."""

from __future__ import annotations

import math
from typing import Any, Self

from discreet.engines.choice import AnyRatings
from discreet.methods.published.private.dpals import DPALS
from discreet.methods.published.private.frank_wolfe import FrankWolfe
from discreet.methods.published.private.projected_gradient import ProjectedGradient
from discreet.methods.published.private.svd import PrivateSVD
from discreet.privacy.accounting import epsilon_from
from discreet.privacy.budget import Budget
from reproduction.central.contest import Rival
from reproduction.tuning import Draw, choice, log_uniform


def frank_wolfe_as_published(*, entry: float, max_ratings: int, **settings: Any) -> FrankWolfe:
    """Every step is taken, and a row's bound is the worst case: the root of k times a bound on one rating."""
    return FrankWolfe(**settings, **_worst_case(entry, max_ratings))


class FrankWolfeNoise(FrankWolfe):
    """With the noise of Jain, Thakkar and Thakurta (2018), algorithm 1.

    There each of T steps gets noise of scale ``L^2 sqrt(64 T ln(1/delta)) / epsilon`` above the diagonal and its
    mirror image below. That is the noise of a run of mu = epsilon / sqrt(64 ln(1/delta)); ours, drawn on the whole
    matrix and symmetrised, is smaller off the diagonal by sqrt(2) at the same mu, so mu is divided by that too.
    """

    def fit(self, ratings: AnyRatings, budget: Budget, **options: Any) -> Self:
        """Spend as little of the budget as the paper's constants leave."""
        mu = budget.epsilon / math.sqrt(128.0 * math.log(1.0 / budget.delta))
        return super().fit(ratings, Budget(epsilon_from(mu, budget.delta), budget.delta), **options)


def noise_as_published(*, entry: float, max_ratings: int, **settings: Any) -> FrankWolfe:
    """As published in its noise as well."""
    return FrankWolfeNoise(**settings, **_worst_case(entry, max_ratings))


def _worst_case(entry: float, max_ratings: int) -> dict[str, Any]:
    return {
        "max_ratings": max_ratings,
        "typical_ratings": max_ratings,
        "row_clip": entry * max_ratings**0.5,
        "skip_noise": False,
    }


def dpals(rank: Draw, most: Draw, entry: Draw, **fixed: Any) -> Rival:
    """DPALS: algorithm 1, and what of algorithm 2 the fixed settings ask for."""
    space = {
        "rank": rank,
        "max_ratings": most,
        "entry_clip": entry,
        "rounds": choice((1, 2, 3, 4)),
        "penalty": log_uniform(0.3, 100.0),
        "row_clip": choice((0.1, 0.3, 1.0)),
        "noise_ratio": choice((1.0, 2.0)),
    }
    return Rival(DPALS, space, fixed)


def weighted_dpals(rank: Draw, most: Draw, entry: Draw, **fixed: Any) -> Rival:
    """DPALS with the item weights of "Multi-Task Differential Privacy Under Distribution Skew"."""
    rival = dpals(rank, most, entry, **{**fixed, "sampling": "weights"})
    return Rival(DPALS, {**rival.space, "weight_exponent": choice((0.0, 0.25, 0.5))}, rival.fixed)


def frank_wolfe(most: Draw, entry: Draw, **fixed: Any) -> Rival:
    """Joint-DP Frank-Wolfe as the poster has it."""
    space = {
        "max_ratings": most,
        "entry": entry,
        "rounds": choice((1, 2, 5, 10)),
        "nuclear_scale": log_uniform(0.5, 30.0),
    }
    return Rival(frank_wolfe_as_published, space, fixed)


def frank_wolfe_noise_as_published(most: Draw, entry: Draw, **fixed: Any) -> Rival:
    """The same with the noise that its paper's constants ask for."""
    rival = frank_wolfe(most, entry, **fixed)
    return Rival(noise_as_published, rival.space, rival.fixed)


def frank_wolfe_clipped(most: Draw, bound: Draw, **fixed: Any) -> Rival:
    """The same with error rows clipped well below their worst case, and steps that are noise passed over."""
    space = {
        "max_ratings": most,
        "row_clip": bound,
        "rounds": choice((2, 5, 10)),
        "nuclear_scale": log_uniform(0.5, 30.0),
    }
    return Rival(FrankWolfe, space, fixed)


def svd(most: Draw, bound: Draw, **fixed: Any) -> Rival:
    """SVD after cleansing (McSherry and Mironov), at the level of users; as published with ``denoise=False``."""
    space = {
        "penalty": log_uniform(0.003, 10.0) if fixed.get("denoise") is False else choice((1.0,)),
        "max_ratings": most,
        "row_clip": bound,
        "rank": choice((1, 2, 4, 8)),
        "mean_share": choice((0.2, 0.4, 0.7)),
        "user_stabiliser": choice((1.0, 5.0)),
        "offset_penalty": log_uniform(0.3, 10.0),
    }
    return Rival(PrivateSVD, space, fixed)


def projected_gradient(most: Draw, bound: Draw, **fixed: Any) -> Rival:
    """Projected gradient under a nuclear-norm bound."""
    space = {
        "max_ratings": most,
        "row_clip": bound,
        "rank": choice((1, 2, 4, 8)),
        "rounds": choice((1, 2, 4)),
        "shrinkage": log_uniform(0.01, 0.5),
    }
    return Rival(ProjectedGradient, space, fixed)
