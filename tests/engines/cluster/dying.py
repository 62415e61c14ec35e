"""Users whose worker, or whose node, is killed once in every query, in the middle of its blocks.

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
from discreet.methods.budgeted.private.contributions import BudgetedALS, BudgetedContributions
from discreet.methods.public.query import Query
from discreet.privacy.gaussian.blocks import Block

DEATHS = "DISCREET_TEST_DEATHS"
"""Where deaths are noted; not set on nodes where nobody dies."""


class DyingContributions(BudgetedContributions):
    """The worker that answers second is killed, once a query."""

    def __init__(self, ratings: Ratings) -> None:
        super().__init__(ratings)

    def contributions(self, query: Query[Any]) -> Sequence[Block]:
        if DEATHS in os.environ and _is(2, query):
            self.die()
        return super().contributions(query)

    def die(self) -> None:
        """Without a word to anybody."""
        os.kill(os.getpid(), signal.SIGKILL)


class LostContributions(DyingContributions):
    """Its node is killed with it: the process that starts workers there."""

    def die(self) -> None:
        os.kill(os.getppid(), signal.SIGKILL)
        super().die()


class Dying(BudgetedALS):
    """Budgeted ALS whose workers die."""

    private_half = DyingContributions


class Lost(BudgetedALS):
    """Budgeted ALS whose node dies."""

    private_half = LostContributions


def deaths(folder: Path) -> int:
    """How many there were."""
    return len(list(folder.glob("* 2")))


def _is(number: int, query: Query[Any]) -> bool:
    """Whether this is the ``number``-th block that anybody answers for."""
    for place in range(1, number + 1):
        try:
            (Path(os.environ[DEATHS]) / f"{query.name[:8]}{query.mu} {place}").touch(exist_ok=False)
        except FileExistsError:
            continue
        return place == number
    return False
