"""Budgeted private ALS, the default method."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.methods.budgeted.run import BudgetedRun
from discreet.methods.method import PrivateMethod, Progress, Trained
from discreet.methods.settings import BudgetedSettings
from discreet.privacy.gaussian.gate import Gate

__all__ = ["BudgetedALS"]


class BudgetedALS(PrivateMethod[BudgetedSettings]):
    """Alternating least squares in which every user spends the whole budget and nothing is clipped away.

    Parameters
    ----------
    rank, rounds
        ``"auto"`` follows a public rule of the number of users and items, ratings per user and the budget.
    **settings
        Further public settings: see :class:`discreet.methods.settings.BudgetedSettings`.

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

    name = "budgeted"
    settings_type = BudgetedSettings
    # The rule for rank and rounds reads the first release, so the schedule is adaptive.
    adaptive = True
    public = (
        "all settings; a rank or number of rounds left to the rule follows from the first release",
        "the random start of the factors",
    )

    def __init__(self, *, rank: int | str = "auto", rounds: int | str = "auto", **settings: Any) -> None:
        super().__init__(rank=rank, rounds=rounds, **settings)

    def _train(
        self, ratings: Ratings, gate: Gate, rng: np.random.Generator, progress: Progress | None
    ) -> Trained:
        run = BudgetedRun(self.settings, ratings, gate, rng, progress)
        side = run.train()
        return Trained(side, run.plan.rounds)

    def _described(self) -> dict[str, Any]:
        return super()._described() | {"rank": self.rank_, "rounds": self.rounds_}
