"""How far a run is and what it has cost, as the coordinator works it out from what it has stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from discreet.catalogue import ItemFeatures
from discreet.errors import BudgetInvalid, Refused
from discreet.privacy.accounting import compose
from discreet.privacy.ledger import Ledger
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.messages import QuestionMessage
from discreet.silos.shared.position import Position, charge_name

__all__ = ["RunProgress"]

Release = Mapping[str, npt.NDArray[np.float64]]


class RunProgress:
    """Position, costs and outcome. The same steps on the same agreement give the same progress.

    Parameters
    ----------
    agreement, features
        What was agreed, and the items' features if there are any.

    Attributes
    ----------
    position
        Where the run stands.
    ledger
        What any silo may have been charged, repeats included.
    failure
        Why the run cannot go on.
    ended
        Whether it was ended before its last round.
    """

    def __init__(self, agreement: Agreement, features: ItemFeatures | None = None) -> None:
        self._run = agreement.run_id
        self.position, self.ledger = Position(agreement, features), Ledger(agreement.budget)
        self.failure: BudgetInvalid | Refused | None = None
        self.ended = False
        self.last_release: Release = {}

    @property
    def state(self) -> str:
        """``"running"``, ``"finished"`` or ``"failed"``."""
        if self.failure is not None:
            return "failed"
        return "finished" if self.ended or self.position.question is None else "running"

    @property
    def running(self) -> bool:
        """Whether there is a question to answer."""
        return self.state == "running"

    @property
    def charged_mu(self) -> float:
        """All costs, with that of the question under way."""
        spent = self.ledger.spent_mu
        return compose([spent, self._cost()[1]]) if self.running else spent

    def question(self, position: Position | None = None) -> bytes:
        """The message of the current question, or of another position in the same round."""
        position = position or self.position
        assert position.question is not None
        message = QuestionMessage(
            self._run, position.round, position.attempt, position.roster, position.question, self.last_release
        )
        return message.encode()

    def take(self, release: Release) -> None:
        """All have answered and this was released."""
        name, mu = self._cost()
        detail = {"silos": len(self.position.roster), "attempt": self.position.attempt}
        self.ledger.redeem(self.ledger.charge(name, mu=mu, detail=detail))
        self.last_release = release
        try:
            self.position.take(release)
        except (BudgetInvalid, Refused) as error:
            self.failure = error

    def repeated(self, roster: Sequence[str]) -> Position:
        """Where the run would stand after giving the attempt up; refuses where that cannot be."""
        position = self.position.copy()
        position.repeat(roster)
        return position

    def repeat(self, position: Position) -> None:
        """Give the attempt up and go to where :meth:`repeated` led."""
        self._give_up()
        self.position = position

    def end(self) -> None:
        """Give the round up and end the run."""
        self._give_up()
        self.ended = True

    def _give_up(self) -> None:
        """Charge an attempt that came to nothing: silos may have answered it."""
        name, mu = self._cost()
        detail = {"silos": len(self.position.roster), "attempt": self.position.attempt, "released": False}
        self.ledger.charge(f"{name} (given up)", mu=mu, detail=detail)

    def _cost(self) -> tuple[str, float]:
        question = self.position.question
        assert question is not None
        return charge_name(question.name, self.position.attempt), question.mu
