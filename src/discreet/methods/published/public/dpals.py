"""DPALS, private alternating least squares: what it asks, and what it makes of the releases.

Chien, Jain, Krichene, Rendle, Song, Thakurta, Zhang: "Private Alternating Least Squares" (ICML 2021), papers 000 and
002 (its appendix). Algorithm 2 (002, section C) prepares, algorithm 1 (000, section 3) trains, for the loss (24):

    c  = counts of a uniform sample + noise sigma_p              lines 1 to 3; the largest are the frequent items
    Omega'' = the k rarest frequent items of each user           lines 4 and 5; c is counted again on it, line 6
    m  = noisy mean of Omega''                                   line 7
    V  = random, or noisy first eigenvectors                     000, section 3.1, "Initialization"
    T times:
        u_i = (lambda_i I + sum_j v_j v_j')^-1 sum_j x_ij v_j, clipped to Gamma_u          A_user: private, no noise
        G_j = sum_i u_i u_i' + noise sigma_G,   g_j = sum_i x_ij u_i + noise sigma_g       A_item, lines 8 to 11
        v_j = (PSD(G_j + lambda_0 K) + lambda_j I)^-1 g_j,   K = sum_i u_i u_i' + noise    lines 10 and 11, section 5.2

``sampling="weights"`` takes all ratings with item weights, after Krichene et al.: "Multi-Task Differential Privacy
Under Distribution Skew" (ICML 2023). Corrected here (docs/lab): clip takes min and not max; both Gaussians,
K and the mean's true sensitivity are charged; ratings are clipped after centring; the normaliser Z of users' weights is
a public constant; the ridge is added after the projection on the cone; a symmetric matrix has symmetrised noise.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from discreet import kernels
from discreet.errors import BudgetInvalid
from discreet.methods.public.half import Facts, PublicHalf, Queries
from discreet.methods.public.query import Query, Trained
from discreet.methods.public.settings import (
    Auto,
    Exponent,
    MaxRatings,
    Positive,
    PrivateSettings,
    Rounds,
    Share,
)
from discreet.methods.published.public.dpals_noise import Accounting, NoisePlan
from discreet.methods.shared.public.sample import Sample, SampledCounts, SampledMean
from discreet.methods.shared.public.spectrum import leading
from discreet.model.fold_in import Clicks, FoldIn, OwnMean
from discreet.model.item_side import ItemSide
from discreet.privacy.accounting import round_up
from discreet.privacy.gaussian.clipped import CoMoments, ItemNormalEquations, NoisyMoment, NormalEquations
from discreet.types import Bools, Floats

__all__ = ["DPALS_HALF", "DPALSSettings", "RoundQuery", "StartQuery", "account", "item_ridge", "make_plan"]

Sigma = Annotated[float, Field(ge=1e-6, le=1e9)]
# Share of mu^2 that rounds get where nothing is left for them: enough for the plan to cost more than there is.
_LEAST = 1e-9


class DPALSSettings(PrivateSettings):
    """Table 3 of 002, in words, and what the text says beside it.

    Parameters
    ----------
    rank, rounds
        r and T.
    max_ratings
        k, the number of ratings with which a user takes part in the item step.
    row_clip, entry_clip
        Gamma_u, bound on a user's vector, and Gamma_M, bound on a centred rating; ``"auto"`` is what the rating range
        and the centre allow, so that nothing is clipped.
    penalty, gravity
        lambda and lambda_0.
    item_exponent, user_exponent
        mu and nu: penalties grow with counts to this power.
    typical_ratings
        Public guess of how many ratings the user of a typical rating has (sum of squared counts / sum of counts, a few
        times the mean over users), in place of Z: the authors' mean over all users' exact counts.
    sampling
        Which k ratings: ``"tail"`` (of the rarest items), ``"uniform"``, or ``"weights"``: all of them, weighted by
        count ** -weight_exponent so that a user's squared weights sum to k.
    weight_exponent
        See there.
    frequent_share
        beta, share of the items that are trained; the others are predicted by the user's own mean.
    centre
        ``"mean"``: a charged estimate of the global mean; ``"middle"``: the middle of the rating range, free.
    start, start_share
        ``"random"``, or ``"spectral"``: top eigenvectors of the users' second moment, for this share of mu^2.
    start_scale
        Length of an item's vector at the start, about.
    preprocessing_share
        Share of mu^2 for counts and mean where ``sigma_counts`` is not given.
    noise_ratio
        sigma_matrix / sigma_vector where they are not given.
    sigma_matrix, sigma_vector, sigma_moment, sigma_counts
        sigma_G, sigma_g, the gravity term's, and sigma_p. ``"auto"`` spends the budget.
    project
        Whether matrices are projected to the positive semidefinite cone; off only to show what that does.
    orthonormal
        Whether V's columns are made orthogonal, each of length sqrt(items), after every round.
    split_users
        Whether the user step takes a different 1/T of a user's ratings in every round.
    """

    rank: Annotated[int, Field(ge=1, le=512)] = 32
    rounds: Rounds = 2
    max_ratings: MaxRatings = 50
    row_clip: Positive = 1.0
    entry_clip: Positive | Auto = "auto"
    penalty: Positive = 80.0
    gravity: Annotated[float, Field(ge=0.0)] = 0.0
    item_exponent: Exponent = 0.5
    user_exponent: Exponent = 1.0
    typical_ratings: Positive = 100.0
    sampling: Literal["tail", "uniform", "weights"] = "tail"
    weight_exponent: Exponent = 0.5
    frequent_share: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    centre: Literal["mean", "middle"] = "mean"
    start: Literal["random", "spectral"] = "random"
    start_share: Share = 0.2
    start_scale: Positive = 1.0
    preprocessing_share: Share = 0.1
    noise_ratio: Annotated[float, Field(ge=1e-6, le=1e6)] = 2.0
    sigma_matrix: Sigma | Auto = "auto"
    sigma_vector: Sigma | Auto = "auto"
    sigma_moment: Sigma | Auto = "auto"
    sigma_counts: Sigma | Auto = "auto"
    project: bool = True
    orthonormal: bool = False
    split_users: bool = False


@dataclass(frozen=True, eq=False)
class StartQuery(Query[NoisyMoment]):
    """What is the second moment of users' rows? Rows of at most k entries of size 1 have a norm of at most sqrt(k)."""

    sample: Sample
    n_items: int
    centre: float
    entry_clip: float

    @property
    def mechanism(self) -> CoMoments:
        """Items x items."""
        return CoMoments(self.n_items)


@dataclass(frozen=True, eq=False)
class RoundQuery(Query[NormalEquations]):
    """What are each item's normal equations, given the users' vectors at this item side? Rounds count from 0."""

    number: int
    side: ItemSide
    plan: NoisePlan
    sample: Sample
    entry_clip: float
    row_clip: float
    split_users: bool
    item_weights: Floats

    @property
    def mechanism(self) -> ItemNormalEquations:
        """A matrix and a vector for each item."""
        plan, fill = self.plan, self.sample.rule == "weights"
        sigmas = plan.sigma_matrix, plan.sigma_vector, plan.sigma_moment
        return ItemNormalEquations(self.side.rank, plan.max_ratings, *sigmas, self.item_weights, fill)

    def so_far(self) -> Trained | None:
        """What the rounds before this one have taught."""
        return Trained(self.side, self.number) if self.number else None


def make_plan(settings: DPALSSettings, facts: Facts) -> NoisePlan:
    """All standard deviations of a run: as set, or such that the budget is spent; never more than that."""
    counts = 0
    if settings.sampling != "uniform" or settings.frequent_share < 1.0 or settings.item_exponent > 0.0:
        counts = 2 if settings.sampling != "weights" and settings.item_exponent > 0.0 else 1
    mean = facts.scale.explicit and settings.centre == "mean"
    weight = settings.max_ratings * (counts + 2 * mean)
    square = facts.mu**2
    sigma_counts = None if settings.sigma_counts == "auto" or not weight else settings.sigma_counts
    if weight and sigma_counts is None:
        sigma_counts = math.sqrt(weight / (settings.preprocessing_share * square))
    spent = weight / sigma_counts**2 if sigma_counts is not None else 0.0
    start = settings.start_share * square if settings.start == "spectral" else 0.0
    matrix, vector = _round_sigmas(settings, square - spent - start, _LEAST * square)
    moment: float | None = None
    if settings.gravity > 0.0:
        moment = matrix if settings.sigma_moment == "auto" else settings.sigma_moment
    plan = NoisePlan(
        *(settings.rounds, settings.max_ratings, matrix, vector, moment, sigma_counts, counts, mean),
        mu_start=math.sqrt(start),
    )
    if plan.mu > facts.mu * (1.0 + 1e-12):
        owed = round_up(account(plan, facts).owed)
        raise BudgetInvalid(
            f"this noise costs epsilon {owed} at delta {facts.budget.delta:g}, with what was spent before it; that is "
            f"more than {facts.budget}. Raise epsilon to that, or leave the sigmas out and they follow from the budget"
        )
    return plan


def account(plan: NoisePlan, facts: Facts) -> Accounting:
    """What the plan owes, and what the paper would have claimed."""
    return plan.accounting(facts.budget.delta, spent_mu=facts.spent_mu, spent_delta=facts.spent_delta)


def _round_sigmas(settings: DPALSSettings, square: float, least: float) -> tuple[float, float]:
    """sigma_matrix and sigma_vector: as set, or such that all rounds together cost ``square``, or the ``least``."""
    if settings.sigma_matrix != "auto" and settings.sigma_vector != "auto":
        return settings.sigma_matrix, settings.sigma_vector
    # A negative rest is refused by the caller, with the plan's own cost in the message.
    square = max(square, least) * (1.0 - 1e-12) / settings.rounds
    ratio, k = settings.noise_ratio, settings.max_ratings
    moment = 1.0 if settings.gravity > 0.0 else 0.0
    if moment and settings.sigma_moment != "auto":
        moment, square = 0.0, max(square - 1.0 / settings.sigma_moment**2, least)
    if settings.sigma_vector != "auto":
        vector = settings.sigma_vector
        return math.sqrt((k + moment) / max(square - k / vector**2, least)), vector
    if settings.sigma_matrix != "auto":
        matrix = settings.sigma_matrix
        return matrix, math.sqrt(k / max(square - (k + moment) / matrix**2, least))
    vector = math.sqrt((k * (1.0 + ratio**-2) + moment * ratio**-2) / square)
    return ratio * vector, vector


def _train(settings: DPALSSettings, facts: Facts, rng: np.random.Generator) -> Queries:
    plan, scale, n_items = make_plan(settings, facts), facts.scale, facts.n_items
    planned = plan.counts + int(plan.mean) + int(settings.start == "spectral") + plan.rounds
    seed, k, counts = int(rng.integers(2**62)), plan.max_ratings, np.ones(n_items)
    if plan.counts:
        noisy = yield SampledCounts("item counts", plan.mu_counts, Sample(seed, k), n_items, planned=planned)
        counts = np.maximum(noisy.counts, 1.0)
    frequent = np.zeros(n_items, dtype=bool)
    frequent[np.argsort(-counts, kind="stable")[: math.ceil(settings.frequent_share * n_items)]] = True
    sample = Sample(seed + 1, k, settings.sampling, counts, frequent.astype(np.float64))
    if plan.counts > 1:
        noisy = yield SampledCounts(
            "item counts of the sample", plan.mu_counts, sample, n_items, planned=planned
        )
        counts = np.maximum(noisy.counts, 1.0)
    centre, weights = scale.middle, np.ones(n_items)
    if settings.sampling == "weights":
        weights = (counts / counts[frequent].mean()) ** -settings.weight_exponent
    if plan.mean:
        bounded = replace(sample, rule="uniform") if sample.rule == "weights" else sample
        mean = yield SampledMean("mean", plan.mu_mean, bounded, planned=planned)
        centre = scale.middle + scale.half_width * mean
    clip = scale.farthest(centre) if settings.entry_clip == "auto" else settings.entry_clip
    first = StartQuery("spectral start", plan.mu_start, sample, n_items, centre, clip, planned=planned)
    factors = yield from _start(settings, first, frequent, rng)
    side = ItemSide(scale, centre, np.zeros(n_items), factors, _user_step(settings, facts, frequent))
    bounds = clip, settings.row_clip, settings.split_users, weights
    for number in range(plan.rounds):
        asked = RoundQuery(f"round {number + 1}", 0.0, number, side, plan, sample, *bounds, planned=planned)
        # The noise is what was planned; the cost follows from it.
        equations = yield asked.at(asked.mechanism.mu)
        side = replace(side, factors=_item_step(settings, asked, equations, counts, frequent))
    return Trained(side, plan.rounds)


def _user_step(settings: DPALSSettings, facts: Facts, frequent: Bools) -> FoldIn:
    """A_user: a ridge of lambda c_i^nu / Z on a user's vector; items that are not trained get the user's own mean."""
    exponent = settings.user_exponent
    penalty = settings.penalty / settings.typical_ratings**exponent
    if facts.scale.explicit:
        return OwnMean((~frequent).astype(np.float64), penalty, exponent)
    return Clicks(settings.gravity, penalty, exponent)


def _start(
    settings: DPALSSettings, asked: StartQuery, frequent: Bools, rng: np.random.Generator
) -> Generator[Query[Any], Any, Floats]:
    """Random factors, or eigenvectors of a released second moment."""
    kept, rank, scale = int(frequent.sum()), settings.rank, settings.start_scale
    factors = np.zeros((len(frequent), rank))
    if settings.start == "random" or kept <= rank:
        factors[frequent] = scale / np.sqrt(rank) * rng.standard_normal((kept, rank))
    if settings.start == "spectral":
        moment = yield asked
        if kept > rank:
            _, vectors = leading(moment.matrix[np.ix_(frequent, frequent)], rank)
            factors[frequent] = vectors * (scale * np.sqrt(kept / rank))
    return factors


def _item_step(
    settings: DPALSSettings, asked: RoundQuery, equations: NormalEquations, counts: Floats, frequent: Bools
) -> Floats:
    """A_item: every trained item's vector from its noisy normal equations."""
    bound, weights = settings.row_clip, asked.item_weights[frequent]
    matrix = equations.matrix[frequent] * (weights * bound**2)[:, None, None]
    vector = equations.vector[frequent] * (weights * bound * asked.entry_clip)[:, None]
    if equations.moment is not None:
        matrix += (settings.gravity * bound**2) * equations.moment
    factors = np.zeros_like(asked.side.factors)
    ridge = item_ridge(settings, counts[frequent])
    factors[frequent] = _solve(matrix, vector, ridge, project=settings.project)
    return _orthonormal(factors, frequent) if settings.orthonormal else factors


def item_ridge(settings: DPALSSettings, counts: Floats) -> Floats:
    """lambda c_j^mu / Z' of (24), from released counts.

    The paper does not say what Z' is. In the authors' code it is the mean of c^mu over ratings: an item counts as often
    as it is rated.
    """
    powers = counts**settings.item_exponent
    return np.asarray(settings.penalty * powers / np.average(powers, weights=counts))


def _solve(matrix: Floats, vector: Floats, ridge: Floats, *, project: bool) -> Floats:
    """(PSD(matrix) + ridge)^-1 vector, item by item: first the cone, then the ridge."""
    if project:
        ridges = np.broadcast_to(ridge[:, None], vector.shape).copy()
        return kernels.solve_items(matrix, vector, ridges)
    order = vector.shape[1]
    shifted = matrix + ridge[:, None, None] * np.eye(order)
    return np.asarray(np.linalg.solve(shifted, vector[:, :, None])[:, :, 0], dtype=np.float64)


def _orthonormal(factors: Floats, frequent: Bools) -> Floats:
    """Line 13: V (V' V)^(-1/2), times sqrt(items) so that a usual entry is about 1."""
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
    _train,
    (SampledCounts, SampledMean, StartQuery, RoundQuery),
    public=("all settings", "the random start of the factors"),
    numbers=_numbers,
)
