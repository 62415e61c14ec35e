"""How far a run is and what it has cost, as the coordinator works it out from what it has stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from discreet.catalogue import ItemFeatures
from discreet.errors import BudgetInvalid, Refused
from discreet.privacy.accounting import compose
from discreet.privacy.ledger import Detail, Ledger
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.messages import QuestionMessage
from discreet.silos.shared.position import Position, charge_detail, charge_name

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
    asked
        Whether the current question has left: before that, while the roll is called, nobody pays.
    """

    def __init__(self, agreement: Agreement, features: ItemFeatures | None = None) -> None:
        self._run = agreement.run_id
        self.position, self.ledger = Position(agreement, features), Ledger(agreement.budget)
        self.failure: BudgetInvalid | Refused | None = None
        self.ended = False
        self.asked = False
        self._charged = False  # the current question, because its release is out and cannot be used
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
    def over(self) -> bool:
        """Whether nothing is left to be done: not even a failed run to be rescued."""
        return self.state == "finished"

    @property
    def name(self) -> str | None:
        """What ledgers call the question asked last; ``None`` at the end."""
        return None if self.position.question is None else self._cost()[0]

    @property
    def charged_mu(self) -> float:
        """All costs, with that of the question that was asked last: silos may have answered it, whatever came of it."""
        spent = self.ledger.spent_mu
        return spent if self.over or self._charged or not self.asked else compose([spent, self._cost()[1]])

    def question(self, position: Position, signatures: tuple[str, ...] = ()) -> bytes:
        """The message of the question at a position in the current round."""
        assert position.question is not None
        message = QuestionMessage(
            self._run,
            position.round,
            position.attempt,
            position.roster,
            position.question,
            self.last_release,
            signatures,
        )
        return message.encode()

    def take(self, release: Release) -> None:
        """All have answered and this was released."""
        name, mu = self._cost()
        self.ledger.redeem(self.ledger.charge(name, mu=mu, detail=self._detail()))
        self.last_release = release
        position = self.position.copy()
        try:
            position.take(release)
        except (BudgetInvalid, Refused) as error:
            self.failure, self._charged = error, True
        else:
            self.position, self.asked = position, False

    def repeated(self, roster: Sequence[str]) -> Position:
        """Where the run would stand after giving the attempt up; refuses where that cannot be."""
        if self._charged:
            raise Refused(
                f"round {self.position.round} was released and cannot be asked again; end the run with "
                "'discreet federate finish'"
            )
        position = self.position.copy()
        position.repeat(roster)
        return position

    def repeat(self, position: Position) -> None:
        """Give the attempt up and go to where :meth:`repeated` led."""
        self._give_up()
        self.position, self.failure, self.asked = position, None, False

    def end(self) -> None:
        """Give the round up and end the run."""
        self._give_up()
        self.ended, self.failure = True, None

    def _give_up(self) -> None:
        """Charge an attempt that came to nothing: silos may have answered it."""
        if self._charged or not self.asked:
            return
        name, mu = self._cost()
        detail = self._detail() | {"released": False}
        self.ledger.charge(f"{name} (given up)", mu=mu, detail=detail)

    def _detail(self) -> dict[str, Detail]:
        """As in the silos' ledgers."""
        position = self.position
        return charge_detail(len(position.roster), position.round, position.attempt)

    def _cost(self) -> tuple[str, float]:
        question = self.position.question
        assert question is not None
        return charge_name(question.name, self.position.attempt), question.mu
