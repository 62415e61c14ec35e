"""One run of budgeted ALS: holds the ratings, spends the budget, and is thrown away."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.data.ratings import Ratings
from discreet.methods.budgeted.private.answers import Answers
from discreet.methods.budgeted.public.plan import Plan
from discreet.methods.budgeted.public.schedule import ActivityQuestion, BudgetedSchedule
from discreet.methods.settings import BudgetedSettings
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.gate import Gate

__all__ = ["BudgetedRun"]


class BudgetedRun:
    """Question, user side, gate, item side, round by round.

    Parameters
    ----------
    settings
        Public.
    ratings
        Private, over a public catalogue.
    gate
        May have been charged for the catalogue already; the run spends what is left.
    rng
        Draws the random start of the factors.
    progress
        Called with (stage, done, total).
    """

    def __init__(
        self,
        settings: BudgetedSettings,
        ratings: Ratings,
        gate: Gate,
        rng: np.random.Generator,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self._answers = Answers(ratings)
        self._gate = gate
        self._progress = progress
        ledger = gate.ledger
        self._schedule = BudgetedSchedule(
            settings,
            ledger.budget,
            ratings.n_items,
            ratings.rating_range,
            ledger.remaining_mu,
            rng,
            gate.noise_excess,
        )

    @property
    def plan(self) -> Plan:
        """What the rule or the person chose."""
        return self._schedule.plan

    def train(self) -> ItemSide:
        """Spend the budget."""
        schedule = self._schedule
        while (question := schedule.question) is not None:
            if not isinstance(question, ActivityQuestion):
                self._report(schedule.done)
            blocks = self._answers.blocks(question)
            schedule.take(self._gate.release(question.name, blocks, mu=question.mu))
        self._report(schedule.done)
        return schedule.item_side()

    def _report(self, done: int) -> None:
        if self._progress is not None:
            self._progress("training", done, self.plan.rounds + 1)
