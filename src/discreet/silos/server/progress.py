"""How far a run is and what it has cost, as the coordinator works it out from what it has stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from discreet.errors import BudgetInvalid, Refused
from discreet.privacy.accounting import compose
from discreet.privacy.ledger import Ledger
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.course import Course, charge_name
from discreet.silos.shared.messages import QuestionMessage

__all__ = ["Progress"]

Release = Mapping[str, npt.NDArray[np.float64]]


class Progress:
    """Course, costs and outcome. The same steps on the same agreement give the same progress.

    Attributes
    ----------
    course
        Where the run stands.
    ledger
        What any silo may have been charged, repeats included.
    failure
        Why the run cannot go on.
    ended
        Whether it was ended before its last round.
    """

    def __init__(self, agreement: Agreement) -> None:
        self._run = agreement.run_id
        self.course, self.ledger = Course(agreement), Ledger(agreement.budget)
        self.failure: BudgetInvalid | Refused | None = None
        self.ended = False
        self.last_release: Release = {}

    @property
    def state(self) -> str:
        """``"running"``, ``"finished"`` or ``"failed"``."""
        if self.failure is not None:
            return "failed"
        return "finished" if self.ended or self.course.question is None else "running"

    @property
    def running(self) -> bool:
        """Whether there is a question to answer."""
        return self.state == "running"

    @property
    def charged_mu(self) -> float:
        """All costs, with that of the question under way."""
        spent = self.ledger.spent_mu
        return compose([spent, self._cost()[1]]) if self.running else spent

    def question(self, course: Course | None = None) -> bytes:
        """The message of the current question, or of another position in the same round."""
        course = course or self.course
        assert course.question is not None
        message = QuestionMessage(
            self._run, course.round, course.attempt, course.roster, course.question, self.last_release
        )
        return message.encode()

    def take(self, release: Release) -> None:
        """All have answered and this was released."""
        name, mu = self._cost()
        detail = {"silos": len(self.course.roster), "attempt": self.course.attempt}
        self.ledger.redeem(self.ledger.charge(name, mu=mu, detail=detail))
        self.last_release = release
        try:
            self.course.take(release)
        except (BudgetInvalid, Refused) as error:
            self.failure = error

    def repeated(self, roster: Sequence[str]) -> Course:
        """Where the run would stand after giving the attempt up; refuses where that cannot be."""
        course = self.course.copy()
        course.repeat(roster)
        return course

    def repeat(self, course: Course) -> None:
        """Give the attempt up and go to where :meth:`repeated` led."""
        self._give_up()
        self.course = course

    def end(self) -> None:
        """Give the round up and end the run."""
        self._give_up()
        self.ended = True

    def _give_up(self) -> None:
        """Charge an attempt that came to nothing: silos may have answered it."""
        name, mu = self._cost()
        detail = {"silos": len(self.course.roster), "attempt": self.course.attempt, "released": False}
        self.ledger.charge(f"{name} (given up)", mu=mu, detail=detail)

    def _cost(self) -> tuple[str, float]:
        question = self.course.question
        assert question is not None
        return charge_name(question.name, self.course.attempt), question.mu
