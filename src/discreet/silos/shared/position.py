"""Where a run stands, as everybody can work it out: round, attempt, roster, and the question that follows.

The coordinator and every silo each keep one of these. It sees the agreement and releases, nothing else.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.catalogue import ItemFeatures
from discreet.errors import BudgetInvalid, Refused
from discreet.methods.public.protocol import ProtocolRun
from discreet.methods.public.query import Query, Trained
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.ledger import Detail
from discreet.silos.shared.agreement import Agreement
from discreet.types import Floats

__all__ = ["Position", "RunVoid", "charge_detail", "charge_name"]


class RunVoid(Refused):
    """A sum that was paid for has failed, nothing is left to repeat it, and no model can be made of what there is."""


class Position:
    """A position in a run. A step that raises leaves it undefined: step on a :meth:`copy`."""

    def __init__(self, agreement: Agreement, features: ItemFeatures | None = None) -> None:
        agreement.check_features(features)
        self._agreement = agreement
        self.round, self.attempt, self.roster = 0, 0, agreement.roster
        facts, spare = agreement.facts(features), agreement.spare
        self.protocol = ProtocolRun(
            agreement.half, agreement.settings, facts, agreement.seed, facts.mu**2 * spare / (1.0 - spare)
        )

    def copy(self) -> Position:
        """An independent copy."""
        other = copy.copy(self)
        other.protocol = self.protocol.copy()
        return other

    @property
    def place(self) -> tuple[int, int]:
        """Round and attempt."""
        return self.round, self.attempt

    @property
    def question(self) -> Query[Any] | None:
        """The one to answer now; ``None`` at the end."""
        return self.protocol.query

    @property
    def rounds(self) -> int | None:
        """Questions of the whole run, as far as is known now."""
        question = self.question
        return self.round if question is None else question.planned

    def trained(self) -> Trained | None:
        """What has been learnt so far, or at the end."""
        question = self.question
        return self.protocol.trained if question is None else question.so_far()

    def forms(self) -> Sequence[Block]:
        """Of the current question's answer: blocks without anybody's contributions."""
        assert self.question is not None
        return self.question.mechanism.empty()

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of each part of the current question's answer, in order."""
        return {block.name: block.total().shape for block in self.forms()}

    def take(self, release: Mapping[str, Floats]) -> None:
        """Go on to the next round."""
        if self.question is None:
            raise Refused("the run is over: there is no further round")
        if {name: value.shape for name, value in release.items()} != self.shapes():
            raise Refused(f"what came as the release of round {self.round} does not answer its question")
        try:
            with np.errstate(all="ignore"):
                self.protocol.take(dict(release), self._agreement.noise_excess(len(self.roster)))
        except (ArithmeticError, ValueError, np.linalg.LinAlgError):
            raise Refused(f"the release of round {self.round} cannot be used") from None
        self.round, self.attempt = self.round + 1, 0

    def repeat(self, roster: Sequence[str], times: int = 1) -> None:
        """Give the attempt up, and ``times`` - 1 more that others have seen, and ask again without some silos."""
        if self.question is None:
            raise Refused("the run is over: there is nothing to repeat")
        smaller = self._fewer(roster)
        if times > len(self.roster) - len(smaller):
            raise Refused("every repeat of a round must leave out at least one more silo")
        try:
            for _ in range(times):
                self.protocol.repeat(self._agreement.noise_excess(len(smaller)))
        except BudgetInvalid as error:
            if self.trained() is None:
                raise RunVoid(
                    f"the run is void: {error}. Begin a new run; an agreement can hold back a spare share of the "
                    "budget for this ('discreet federate agree --spare')"
                ) from None
            raise Refused(str(error)) from None
        self.roster, self.attempt = smaller, self.attempt + times

    def leave(self, roster: Sequence[str]) -> None:
        """Go on without silos that were away when the roll was called: nobody has paid for this attempt."""
        self.roster = self._fewer(roster)

    def _fewer(self, roster: Sequence[str]) -> tuple[str, ...]:
        smaller, least = tuple(sorted(set(roster))), self._agreement.smallest_roster
        if tuple(roster) != smaller or not set(smaller) < set(self.roster):
            raise Refused("a round goes on only with fewer of the silos that it had, and never with others")
        if len(smaller) < least:
            raise Refused(f"{len(smaller)} silos are too few: the agreement needs {least} in every round")
        return smaller


def charge_name(question: str, attempt: int) -> str:
    """What ledgers and statements call one attempt."""
    return question if attempt == 0 else f"{question}, repeat {attempt} with fewer silos"


def charge_detail(silos: int, round_: int, attempt: int) -> dict[str, Detail]:
    """What ledgers and statements note beside it: the round has the number that messages, logs and JSON give it."""
    return {"silos": silos, "round": round_, "attempt": attempt}
