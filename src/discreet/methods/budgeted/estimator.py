"""Budgeted private ALS: predicted ratings."""

from __future__ import annotations

from typing import Literal

from discreet.methods.budgeted.private.contributions import BudgetedContributions
from discreet.methods.budgeted.public.train import BUDGETED
from discreet.methods.method import PrivateMethod

__all__ = ["BudgetedALS"]


class BudgetedALS(PrivateMethod):
    """Predicted ratings by private ALS on gradients: every user uses the whole budget, nothing to tune.

    For lists of what people take there is :class:`discreet.EASE`.

    Parameters
    ----------
    rank, rounds
        ``"auto"`` follows a public rule of the number of users and items, ratings per user and the budget.
    curvature
        ``"shared"``: one second moment for all items. ``"full"``: one for each item, released with more noise.
    activity_share
        Share of mu^2 for the first release (how many users, how much they rate).
    offset_share
        Share of the rest for the offsets; ``"auto"`` is 0.2, down to 0.1 where items are few.
    growth
        Each round gets this many times the mu^2 of the one before.
    first_weight_share
        Share of a typical user's energy for item weights in the offsets' release, where nothing is known about them.
    weight_share, moment_share
        Share of a typical user's energy that a round spends on item weights and on the users' moment.
    item_exponent
        An item's budget is proportional to popularity ** -exponent.
    discover_share
        Share of mu^2 and of delta for choosing the catalogue where none is given; ``None`` refuses instead.

    Attributes
    ----------
    model_ : Model
        What is released. The fitted object keeps nothing else of the ratings.
    statement_ : Statement
        The model's privacy statement.
    rank_, rounds_ : int
        What the rule or the person chose.

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

    def __init__(
        self,
        *,
        rank: int | Literal["auto"] = "auto",
        rounds: int | Literal["auto"] = "auto",
        curvature: Literal["shared", "full"] = "shared",
        activity_share: float = 0.01,
        offset_share: float | Literal["auto"] = "auto",
        growth: float = 1.3,
        first_weight_share: float = 0.4,
        weight_share: float = 0.02,
        moment_share: float = 0.02,
        item_exponent: float = 0.25,
        discover_share: float | None = None,
    ) -> None:
        super().__init__(
            rank=rank,
            rounds=rounds,
            curvature=curvature,
            activity_share=activity_share,
            offset_share=offset_share,
            growth=growth,
            first_weight_share=first_weight_share,
            weight_share=weight_share,
            moment_share=moment_share,
            item_exponent=item_exponent,
            discover_share=discover_share,
        )
