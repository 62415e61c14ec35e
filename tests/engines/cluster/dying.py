"""Users whose worker, or whose node, is killed once in every question, in the middle of its blocks.

Deterministic: the process kills itself at a place of the program. What has died leaves a file, so that who comes after
it lives. The folder of these files is named in the environment, which workers have from the node they run on.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.data.ratings import Ratings
from discreet.methods.budgeted.estimator import BudgetedALS
from discreet.methods.budgeted.private.answers import BudgetedAnswers
from discreet.methods.question import Question
from discreet.privacy.gaussian.blocks import Block

DEATHS = "DISCREET_TEST_DEATHS"
"""Where deaths are noted; not set on nodes where nobody dies."""


class DyingAnswers(BudgetedAnswers):
    """The worker that answers second is killed, once a question."""

    def __init__(self, ratings: Ratings) -> None:
        super().__init__(ratings)

    def answer(self, question: Question[Any]) -> Sequence[Block]:
        if DEATHS in os.environ and _is(2, question):
            self.die()
        return super().answer(question)

    def die(self) -> None:
        """Without a word to anybody."""
        os.kill(os.getpid(), signal.SIGKILL)


class LostAnswers(DyingAnswers):
    """Its node is killed with it: the process that starts workers there."""

    def die(self) -> None:
        os.kill(os.getppid(), signal.SIGKILL)
        super().die()


class Dying(BudgetedALS):
    """Budgeted ALS whose workers die."""

    private_half = DyingAnswers


class Lost(BudgetedALS):
    """Budgeted ALS whose node dies."""

    private_half = LostAnswers


def deaths(folder: Path) -> int:
    """How many there were."""
    return len(list(folder.glob("* 2")))


def _is(number: int, question: Question[Any]) -> bool:
    """Whether this is the ``number``-th block that anybody answers for."""
    for place in range(1, number + 1):
        try:
            (Path(os.environ[DEATHS]) / f"{question.name[:8]}{question.mu} {place}").touch(exist_ok=False)
        except FileExistsError:
            continue
        return place == number
    return False
