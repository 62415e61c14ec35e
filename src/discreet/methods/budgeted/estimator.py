"""Budgeted private ALS: predicted ratings."""

from __future__ import annotations

from discreet.methods.budgeted.private.contributions import BudgetedContributions
from discreet.methods.budgeted.public.train import BUDGETED
from discreet.methods.method import PrivateMethod

__all__ = ["BudgetedALS"]


class BudgetedALS(PrivateMethod):
    """Predicted ratings by private ALS on gradients: every user uses the whole budget, nothing to tune.

    For lists of what people take there is :class:`discreet.EASE`.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. Everything learnt from ratings
    passes the gate (`discreet.privacy.gaussian.gate`) in 2 + rounds Gaussian releases whose costs sum to the
    budget exactly: activity, offsets, rounds (and the catalogue, where it is discovered).

    Examples
    --------
    >>> from discreet import Budget, BudgetedALS
    >>> from discreet.data.synthetic import market
    >>> fitted = BudgetedALS(rank=4, rounds=2).fit(market(1_000, 50, 12_000, rng=0), Budget(5.0, 1e-6), rng=0)
    >>> fitted.model_.item_side.factors.shape
    (50, 4)
    """

    public_half = BUDGETED
    private_half = BudgetedContributions
    gpu_half = "discreet.methods.budgeted.private.gpu_contributions:GpuBudgetedContributions"
