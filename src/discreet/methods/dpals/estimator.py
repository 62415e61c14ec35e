"""DPALS as published: private alternating least squares with clipping, sampling and per-item normal equations.

Chien, Jain, Krichene, Rendle, Song, Thakurta, Zhang: "Private Alternating Least Squares" (ICML 2021), algorithms 1
and 2 with the practical loss (24), and the item weights of Krichene, Jain, Song, Sundararajan, Thakurta, Zhang:
"Multi-Task Differential Privacy Under Distribution Skew" (ICML 2023). Where the paper is unsafe or wrong as printed,
this is not as printed: see ``docs/architecture.md``.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from discreet.data.ratings import Ratings
from discreet.errors import BudgetInvalid
from discreet.methods.dpals.presets import Accounting, NoisePlan, find_preset
from discreet.methods.dpals.run import DPALSRun
from discreet.methods.method import PrivateMethod, Progress, Trained
from discreet.methods.settings import Auto, Positive, PrivateSettings, Rounds, Share
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.ledger import Ledger
from discreet.privacy.statement_text import round_up

__all__ = ["DPALS", "DPALSSettings"]

NotNegative = Annotated[float, Field(ge=0.0)]
Sigma = Annotated[float, Field(ge=1e-6, le=1e9)]
Exponent = Annotated[float, Field(ge=0.0, le=2.0)]


class DPALSSettings(PrivateSettings):
    """Table 3 of the paper, in words.

    Attributes
    ----------
    rank, rounds
        r and T.
    most
        k, the number of ratings with which a user takes part in the item step.
    row_clip, entry_clip
        Gamma_u, bound on a user's vector, and Gamma_M, bound on a centred rating; ``"auto"`` is what the rating range
        and the centre allow, so that nothing is clipped.
    penalty, gravity
        lambda and lambda_0.
    item_exponent, user_exponent
        mu and nu: penalties grow with counts to this power.
    typical_count
        Public guess of the ratings of a usual user, in place of the paper's mean over all users' exact counts.
    sampling
        Which k ratings: ``"tail"`` (of the rarest items), ``"uniform"``, or ``"weights"``: all of them, weighted by
        count ** -weight_exponent so that a user's squared weights sum to k.
    frequent_share
        beta, share of the items that are trained; the others are predicted by the user's own mean.
    centring
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
        The paper's sigma_G, sigma_g, the gravity term's, and sigma_p. ``"auto"`` spends the budget.
    project
        Whether matrices are projected to the positive semidefinite cone; off only to show what that does.
    orthonormal
        Whether V's columns are made orthogonal, each of length sqrt(items), after every round.
    split_users
        Whether the user step takes a different 1/T of a user's ratings in every round.
    """

    rank: Annotated[int, Field(ge=1, le=512)] = 32
    rounds: Rounds = 2
    most: Annotated[int, Field(ge=1, le=100_000)] = 50
    row_clip: Positive = 1.0
    entry_clip: Positive | Auto = "auto"
    penalty: Positive = 80.0
    gravity: NotNegative = 0.0
    item_exponent: Exponent = 0.5
    user_exponent: Exponent = 1.0
    typical_count: Positive = 100.0
    sampling: Literal["tail", "uniform", "weights"] = "tail"
    weight_exponent: Exponent = 0.5
    frequent_share: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    centring: Literal["mean", "middle"] = "mean"
    start: Literal["random", "spectral"] = "random"
    start_share: Share = 0.2
    start_scale: Positive = 1.0
    preprocessing_share: Share = 0.1
    noise_ratio: Positive = 2.0
    sigma_matrix: Sigma | Auto = "auto"
    sigma_vector: Sigma | Auto = "auto"
    sigma_moment: Sigma | Auto = "auto"
    sigma_counts: Sigma | Auto = "auto"
    project: bool = True
    orthonormal: bool = False
    split_users: bool = False

    @property
    def needs_counts(self) -> bool:
        """Whether anything reads item counts."""
        return self.sampling != "uniform" or self.frequent_share < 1.0 or self.item_exponent > 0.0


class DPALS(PrivateMethod[DPALSSettings]):
    """The published private ALS, correctly accounted.

    Parameters
    ----------
    preset
        Name of a column of the paper's table 4, such as ``"ml-10m-eps-1"``; settings given beside it win.
    **settings
        See :class:`DPALSSettings`.

    Attributes
    ----------
    model_, statement_, rank_, rounds_
        As for every private method.
    accounting_ : Accounting
        What the paper would have claimed for this run's noise, beside what is owed.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. Releases: item counts (twice at
    most), the mean, the start if it is spectral, and one set of normal equations a round. All of them are bounded by
    clipping (``privacy/proofs/clipped.md``). Number and cost follow from the settings and the budget alone.

    Examples
    --------
    >>> from discreet import Budget
    >>> from discreet.methods.dpals.estimator import DPALS
    >>> from discreet.data.synthetic import market
    >>> fitted = DPALS(rank=4, most=10).fit(market(1_000, 50, 12_000, rng=0), Budget(5.0, 1e-6), rng=0)
    >>> [release.name for release in fitted.statement_.releases]
    ['item counts', 'item counts of the sample', 'mean', 'round 1', 'round 2']
    """

    name = "dpals"
    settings_type = DPALSSettings
    public = ("all settings", "the random start of the factors")

    accounting_: Accounting

    def __init__(self, *, preset: str | None = None, **settings: Any) -> None:
        known = {} if preset is None else find_preset(preset).settings
        super().__init__(**(known | settings))

    def _train(
        self, ratings: Ratings, gate: Gate, rng: np.random.Generator, progress: Progress | None
    ) -> Trained:
        plan = make_plan(self.settings, gate.ledger, explicit=ratings.explicit)
        self.accounting_ = _accounting(plan, gate.ledger)
        side = DPALSRun(self.settings, plan, ratings, gate, rng, progress).train()
        return Trained(side, plan.rounds)


def make_plan(settings: DPALSSettings, ledger: Ledger, *, explicit: bool) -> NoisePlan:
    """How much noise each release gets: as set, or such that the budget is spent. Public."""
    counts = 0
    if settings.needs_counts:
        counts = 2 if settings.sampling != "weights" and settings.item_exponent > 0.0 else 1
    mean = explicit and settings.centring == "mean"
    weight = settings.most * (counts + 2 * mean)
    square = ledger.remaining_mu**2
    sigma_counts: float | None = None
    if weight:
        if settings.sigma_counts == "auto":
            sigma_counts = math.sqrt(weight / (settings.preprocessing_share * square))
        else:
            sigma_counts = settings.sigma_counts
    spent = weight / sigma_counts**2 if sigma_counts is not None else 0.0
    start = settings.start_share * square if settings.start == "spectral" else 0.0
    matrix, vector = _round_sigmas(settings, square - spent - start)
    moment: float | None = None
    if settings.gravity > 0.0:
        moment = matrix if settings.sigma_moment == "auto" else settings.sigma_moment
    plan = NoisePlan(
        settings.rounds, settings.most, matrix, vector, moment, sigma_counts, counts, mean, math.sqrt(start)
    )
    if plan.mu > ledger.remaining_mu * (1.0 + 1e-12):
        owed = round_up(_accounting(plan, ledger).owed)
        raise BudgetInvalid(
            f"this noise costs epsilon {owed} at delta {ledger.budget.delta:g}, with what was spent before it; that is "
            f"more than {ledger.budget}. Raise epsilon to that, or leave the sigmas out and they follow from the budget"
        )
    return plan


def _accounting(plan: NoisePlan, ledger: Ledger) -> Accounting:
    return Accounting.of(plan, ledger.budget.delta, spent_mu=ledger.spent_mu, spent_delta=ledger.spent_delta)


def _round_sigmas(settings: DPALSSettings, square: float) -> tuple[float, float]:
    """sigma_matrix and sigma_vector: as set, or such that all rounds together cost ``square``."""
    if settings.sigma_matrix != "auto" and settings.sigma_vector != "auto":
        return settings.sigma_matrix, settings.sigma_vector
    # A negative rest is refused by the caller, with the plan's own cost in the message.
    square = max(square, 1e-12) * (1.0 - 1e-12) / settings.rounds
    ratio, k = settings.noise_ratio, settings.most
    gravity = settings.gravity > 0.0
    fixed = settings.sigma_moment if gravity and settings.sigma_moment != "auto" else None
    if fixed is not None:
        square = max(square - 1.0 / fixed**2, 1e-12)
    moment = 1.0 if gravity and fixed is None else 0.0
    if settings.sigma_vector != "auto":
        vector = settings.sigma_vector
        return math.sqrt((k + moment) / max(square - k / vector**2, 1e-12)), vector
    if settings.sigma_matrix != "auto":
        matrix = settings.sigma_matrix
        return matrix, math.sqrt(k / max(square - (k + moment) / matrix**2, 1e-12))
    vector = math.sqrt((k * (1.0 + ratio**-2) + moment * ratio**-2) / square)
    return ratio * vector, vector
