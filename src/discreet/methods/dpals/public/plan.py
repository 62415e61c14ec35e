"""How much noise each of DPALS' releases gets: as set, or such that the budget is spent. Public."""

from __future__ import annotations

import math

from discreet.errors import BudgetInvalid
from discreet.methods.dpals.presets import Accounting, NoisePlan
from discreet.methods.dpals.settings import DPALSSettings
from discreet.methods.public_half import Facts
from discreet.privacy.statement_text import round_up

__all__ = ["account", "make_plan"]

# Share of mu^2 that rounds get where nothing is left for them: enough for the plan to cost more than there is.
_LEAST = 1e-9


def make_plan(settings: DPALSSettings, facts: Facts) -> NoisePlan:
    """All standard deviations of a run.

    Raises
    ------
    BudgetInvalid
        When the noise that was set costs more than the budget.
    """
    counts = 0
    if settings.needs_counts:
        counts = 2 if settings.sampling != "weights" and settings.item_exponent > 0.0 else 1
    mean = facts.scale.explicit and settings.centre == "mean"
    weight = settings.max_ratings * (counts + 2 * mean)
    square = facts.mu**2
    sigma_counts: float | None = None
    if weight:
        if settings.sigma_counts == "auto":
            sigma_counts = math.sqrt(weight / (settings.preprocessing_share * square))
        else:
            sigma_counts = settings.sigma_counts
    spent = weight / sigma_counts**2 if sigma_counts is not None else 0.0
    start = settings.start_share * square if settings.start == "spectral" else 0.0
    matrix, vector = _round_sigmas(settings, square - spent - start, _LEAST * square)
    moment: float | None = None
    if settings.gravity > 0.0:
        moment = matrix if settings.sigma_moment == "auto" else settings.sigma_moment
    plan = NoisePlan(
        settings.rounds,
        settings.max_ratings,
        matrix,
        vector,
        moment,
        sigma_counts,
        counts,
        mean,
        math.sqrt(start),
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
    return Accounting.of(plan, facts.budget.delta, spent_mu=facts.spent_mu, spent_delta=facts.spent_delta)


def _round_sigmas(settings: DPALSSettings, square: float, least: float) -> tuple[float, float]:
    """sigma_matrix and sigma_vector: as set, or such that all rounds together cost ``square``, or the ``least``."""
    if settings.sigma_matrix != "auto" and settings.sigma_vector != "auto":
        return settings.sigma_matrix, settings.sigma_vector
    # A negative rest is refused by the caller, with the plan's own cost in the message.
    square = max(square, least) * (1.0 - 1e-12) / settings.rounds
    ratio, k = settings.noise_ratio, settings.max_ratings
    gravity = settings.gravity > 0.0
    fixed = settings.sigma_moment if gravity and settings.sigma_moment != "auto" else None
    if fixed is not None:
        square = max(square - 1.0 / fixed**2, least)
    moment = 1.0 if gravity and fixed is None else 0.0
    if settings.sigma_vector != "auto":
        vector = settings.sigma_vector
        return math.sqrt((k + moment) / max(square - k / vector**2, least)), vector
    if settings.sigma_matrix != "auto":
        matrix = settings.sigma_matrix
        return matrix, math.sqrt(k / max(square - (k + moment) / matrix**2, least))
    vector = math.sqrt((k * (1.0 + ratio**-2) + moment * ratio**-2) / square)
    return ratio * vector, vector
