"""How far the current question is where silos may be lost: answered, closed and countersigned, revealed.

Everything follows from the store, so a coordinator that was killed finds the same stage and sends the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from discreet.errors import Refused
from discreet.silos.server.coordinator_store import CoordinatorStore
from discreet.silos.server.unmasking import to_take_off
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.listing import ListMessage, ReplyMessage
from discreet.silos.shared.messages import AnswerMessage, digest
from discreet.silos.shared.position import Position
from discreet.silos.shared.sealed_shares import ShareLayout
from discreet.types import Words

__all__ = ["ListStages"]

AnyStage = Literal["answer", "countersign", "reveal"]
_ORDER: dict[str, int] = {"answer": 0, "countersign": 1, "reveal": 2}


class ListStages:
    """Leads a question from its answers to a sum that can be read.

    Parameters
    ----------
    agreement, store
        What was agreed, and the coordinator's store.
    """

    def __init__(self, agreement: Agreement, store: CoordinatorStore) -> None:
        self._agreement, self._store, self._lists = agreement, store, store.lists

    def may_lose(self, position: Position) -> int:
        """How many silos may be lost in the current question."""
        return self._agreement.dropouts_among(len(position.roster))

    def stage(self, position: Position) -> AnyStage:
        """What silos are asked for now."""
        if self._members(position) is None:
            return "answer"
        signed = self._lists.replied(position.round, position.attempt, "countersign")
        return "countersign" if len(signed) < self._needed(position) else "reveal"

    def lost(self, position: Position) -> list[str]:
        """Silos that the current question goes on without."""
        members = self._members(position)
        return [] if members is None else [name for name in position.roster if name not in members]

    def waiting_for(self, position: Position) -> list[str]:
        """Silos that are asked and have not replied; nobody once there are enough."""
        stage, members = self.stage(position), self._members(position)
        if stage == "answer" or members is None:
            answered = self._store.answered(position.round, position.attempt)
            return [name for name in position.roster if name not in answered]
        replied = self._lists.replied(position.round, position.attempt, stage)
        enough = len(replied) >= self._needed(position)
        return [] if enough else [name for name in members if name not in replied]

    def close(self, position: Position, lost: Sequence[str]) -> None:
        """Go on without these silos, which are all that are awaited; at no cost to the others.

        Raises
        ------
        Refused
            When that cannot be. Nothing has changed.
        """
        allowed, waiting = self.may_lose(position), self.waiting_for(position)
        if self.stage(position) != "answer":
            raise Refused(
                f"round {position.round} is closed already, and needs the replies of {self._needed(position)} silos"
            )
        if sorted(lost) != waiting:
            raise Refused(f"those awaited are {', '.join(waiting) or 'nobody'}: name all of them, or wait")
        if len(lost) > allowed:
            raise Refused(
                f"{len(lost)} silos are too many to lose in one round: the agreement allows {allowed}"
            )
        members = [name for name in position.roster if name not in lost]
        self._lists.close(position.round, position.attempt, members)
        self._count_down(position)

    def message(self, position: Position) -> bytes:
        """The list, as it is now: to be countersigned, or to reveal by."""
        return self._message(position).encode()

    def receive(self, position: Position, message: ReplyMessage, reply: bytes) -> bool:
        """Keep a reply; ``False`` where it came too late to be needed.

        Raises
        ------
        Refused
            For anything that is no reply to the list.
        """
        at, now = (message.round, message.attempt), (position.round, position.attempt)
        stage = self.stage(position)
        if (at, _ORDER[message.stage]) > (now, _ORDER[stage]):
            raise Refused(f"{message.silo} replies to a list of round {message.round} that nobody has sent")
        if (at, message.stage) != (now, stage):
            return False
        self._lists.check(message, self._listed(position), self._layout(position))
        self._lists.receive(message, digest(reply), reply)
        if stage == "countersign" and self.stage(position) == "reveal":
            self._count_down(position)
        return True

    def has_shares(self, position: Position, message: AnswerMessage) -> bool:
        """Whether an answer has sealed shares where they belong, in their form, and none elsewhere."""
        if not self.may_lose(position):
            return message.shares is None
        form = (len(position.roster), self._layout(position).words)
        return message.shares is not None and message.shares.shape == form

    def take_off(self, position: Position, size: int) -> Words | None:
        """What the sum of the answers has too much, once enough have revealed; ``None`` where all must answer."""
        members = self._members(position)
        if members is None:
            return None
        revealed = self._lists.replies(position.round, position.attempt, "reveal")
        return to_take_off(self._agreement, position, members, revealed, size)

    def known(self, message: ReplyMessage) -> str | None:
        """Digest of the same silo's reply at this stage, if it came before."""
        return self._lists.digest_of(message)

    def _message(self, position: Position) -> ListMessage:
        listed = self._listed(position)
        if self.stage(position) != "reveal":
            return listed
        bodies = self._store.answers(position.round, position.attempt)
        answers = [AnswerMessage.decode(body, self._agreement) for body in bodies]
        return self._lists.opened(listed, answers, self._layout(position))

    def _listed(self, position: Position) -> ListMessage:
        members = self._members(position)
        assert members is not None
        asked = digest(self._store.question(position.round, position.attempt))
        return ListMessage(self._agreement.run_id, position.round, position.attempt, asked, members)

    def _count_down(self, position: Position) -> None:
        message = self._message(position)
        size = len(message.encode()) * len(message.members)
        self._lists.count_down(position.round, position.attempt, size)

    def _members(self, position: Position) -> tuple[str, ...] | None:
        return self._lists.members(position.round, position.attempt)

    def _layout(self, position: Position) -> ShareLayout:
        return ShareLayout(self._agreement, position.roster)

    def _needed(self, position: Position) -> int:
        return self._agreement.threshold(len(position.roster))
