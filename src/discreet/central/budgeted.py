"""Budgeted private ALS, the default method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.central.catalogue import discover_catalogue
from discreet.central.enough import check_items
from discreet.central.run import BudgetedRun
from discreet.central.settings import BudgetedSettings
from discreet.data.ratings import Ratings
from discreet.errors import BudgetInvalid, CatalogueMissing
from discreet.model import Model
from discreet.privacy.budget import Budget
from discreet.privacy.gate import Gate
from discreet.privacy.ledger import Ledger
from discreet.privacy.noise import Noise
from discreet.privacy.statement import Statement

__all__ = ["BudgetedALS"]

PUBLIC = (
    "the item catalogue",
    "the rating range",
    "all settings; a rank or number of rounds left to the rule follows from the first release",
    "the random start of the factors",
)
DISCOVERED = PUBLIC[1:]


class BudgetedALS:
    """Alternating least squares in which every user spends the whole budget and nothing is clipped away.

    Parameters
    ----------
    rank, rounds
        ``"auto"`` follows a public rule of the number of users and items, ratings per user and the budget.
    **settings
        Further public settings: see :class:`discreet.central.settings.BudgetedSettings`.

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
    passes the gate (:class:`discreet.privacy.gate.Gate`) in 2 + rounds Gaussian releases whose costs sum to the
    budget exactly: activity, offsets, rounds (and the catalogue, where it is discovered).

    Examples
    --------
    >>> from discreet import Budget, BudgetedALS
    >>> from discreet.data.synthetic import market
    >>> fitted = BudgetedALS(rank=4, rounds=2).fit(market(1_000, 50, 12_000, rng=0), Budget(5.0, 1e-6), rng=0)
    >>> fitted.model_.item_side.factors.shape
    (50, 4)
    """

    model_: Model
    statement_: Statement
    rank_: int
    rounds_: int

    def __init__(self, *, rank: int | str = "auto", rounds: int | str = "auto", **settings: Any) -> None:
        self.settings = BudgetedSettings.checked(rank=rank, rounds=rounds, **settings)

    def fit(
        self,
        ratings: Ratings,
        budget: Budget,
        *,
        rng: np.random.Generator | int | None = None,
        progress: Callable[[str, int, int], None] | None = None,
        noise: Noise | None = None,
    ) -> BudgetedALS:
        """Train within a budget.

        Parameters
        ----------
        ratings
            With a public catalogue, or without one if ``discover_share`` is set.
        budget
            Spent to the last bit.
        rng
            Ordinary randomness (the start of the factors). Never the privacy noise.
        progress
            Called with (stage, done, total).
        noise
            Leave it out; see :meth:`discreet.privacy.noise.Noise.fixed_key_not_private`.
        """
        if not isinstance(budget, Budget):
            raise BudgetInvalid("a private method needs budget=discreet.Budget(epsilon=..., delta=...)")
        generator = np.random.default_rng(rng)
        gate = Gate(Ledger(budget), noise)
        public: tuple[str, ...] = PUBLIC
        if ratings.catalogue is None:
            ratings, public = self._discover(gate, ratings), DISCOVERED
        assert ratings.catalogue is not None
        check_items(ratings.n_items)
        run = BudgetedRun(self.settings, ratings, gate, generator, progress)
        side = run.train()
        self.rank_, self.rounds_ = side.rank, run.plan.rounds
        # The rule for rank and rounds reads the first release, so the schedule is adaptive.
        self.statement_ = Statement.from_ledger(
            gate.ledger, public=public, fixed_noise_key=gate.fixed_noise, adaptive=True
        )
        settings = self.settings.model_dump(mode="json") | {"rank": self.rank_, "rounds": self.rounds_}
        self.model_ = Model(side, ratings.catalogue, self.statement_, "budgeted", settings)
        return self

    def _discover(self, gate: Gate, ratings: Ratings) -> Ratings:
        share = self.settings.discover_share
        if share is None:
            raise CatalogueMissing(
                "the items a private model speaks about must be public: give the ratings a catalogue, or spend part "
                "of the budget on finding them with discover_share=0.1 (--discover-items on the command line)"
            )
        return discover_catalogue(gate, ratings, share)
