"""Who is in each sum, where silos may be lost: the lists, what their members have replied, and what these replies open.

A question is answered, then closed with a list of who is in. Once enough members have countersigned the list, they are
asked for their shares; once enough have revealed theirs, the sum can be read. Proof note: ``proofs/lost_silos.md``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from discreet.errors import Refused
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.listing import ListMessage, ReplyMessage, Stage
from discreet.silos.shared.messages import AnswerMessage
from discreet.silos.shared.sealed_shares import MAC_WORDS, SHARE_WORDS, ShareLayout
from discreet.silos.shared.store import Store
from discreet.types import Words

__all__ = ["SCHEMA", "MemberLists"]

SCHEMA = """
CREATE TABLE lists(
    round INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    members TEXT NOT NULL,
    bytes_down INTEGER NOT NULL,
    PRIMARY KEY (round, attempt)
) STRICT;
CREATE TABLE replies(
    round INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    stage TEXT NOT NULL,
    silo TEXT NOT NULL,
    digest TEXT NOT NULL,
    size INTEGER NOT NULL,
    reply BLOB,
    PRIMARY KEY (round, attempt, stage, silo)
) STRICT
"""
Names = tuple[str, ...]


class MemberLists:
    """The lists of a run.

    Parameters
    ----------
    store
        The coordinator's, with the tables of :data:`SCHEMA`.
    agreement
        What was agreed.
    """

    def __init__(self, store: Store, agreement: Agreement) -> None:
        self._store, self._agreement = store, agreement

    def members(self, round_: int, attempt: int) -> Names | None:
        """Who is in the sum, once the question is closed."""
        rows = self._store.rows("SELECT members FROM lists WHERE round = ? AND attempt = ?", round_, attempt)
        return tuple(json.loads(rows[0][0])) if rows else None

    def close(self, round_: int, attempt: int, members: Sequence[str]) -> None:
        """Take no further answer: this is who is in the sum, for good."""
        with self._store.transaction():
            self._store.write(
                "INSERT INTO lists VALUES (?, ?, ?, 0)", round_, attempt, json.dumps(sorted(members))
            )

    def count_down(self, round_: int, attempt: int, size: int) -> None:
        """Remember how many bytes of lists have gone down."""
        with self._store.transaction():
            self._store.write(
                "UPDATE lists SET bytes_down = bytes_down + ? WHERE round = ? AND attempt = ?",
                size,
                round_,
                attempt,
            )

    @property
    def bytes_down(self) -> int:
        """Of all lists, to all their members."""
        return int(self._store.rows("SELECT coalesce(sum(bytes_down), 0) FROM lists")[0][0])

    def replied(self, round_: int, attempt: int, stage: Stage) -> list[str]:
        """Who has replied, sorted."""
        rows = self._store.rows(
            "SELECT silo FROM replies WHERE round = ? AND attempt = ? AND stage = ? ORDER BY silo",
            round_,
            attempt,
            stage,
        )
        return [str(silo) for (silo,) in rows]

    def digest_of(self, message: ReplyMessage) -> str | None:
        """Of the reply that a silo has sent at this stage, if it has."""
        rows = self._store.rows(
            "SELECT digest FROM replies WHERE round = ? AND attempt = ? AND stage = ? AND silo = ?",
            message.round,
            message.attempt,
            message.stage,
            message.silo,
        )
        return str(rows[0][0]) if rows else None

    def receive(self, message: ReplyMessage, digest: str, reply: bytes) -> None:
        """Keep a reply."""
        with self._store.transaction():
            self._store.write(
                "INSERT INTO replies VALUES (?, ?, ?, ?, ?, ?, ?)",
                message.round,
                message.attempt,
                message.stage,
                message.silo,
                digest,
                len(reply),
                reply,
            )

    def replies(self, round_: int, attempt: int, stage: Stage) -> dict[str, Words]:
        """What members have replied, by their names."""
        rows = self._store.rows(
            "SELECT silo, reply FROM replies WHERE round = ? AND attempt = ? AND stage = ? ORDER BY silo",
            round_,
            attempt,
            stage,
        )
        return {str(silo): ReplyMessage.decode(bytes(reply), self._agreement).content for silo, reply in rows}

    def check(self, message: ReplyMessage, listed: ListMessage, layout: ShareLayout) -> None:
        """Refuse a reply to another list, of a silo that is not in it, or of the wrong form."""
        if message.silo not in listed.members:
            raise Refused(f"{message.silo} is not in the sum of round {message.round}")
        if message.listing != listed.listing:
            raise Refused(f"{message.silo} has replied to another list of round {message.round}")
        revealed = sum(len(layout.revealed(dealer, listed.members)) for dealer in listed.members)
        form = {"countersign": (len(listed.members), MAC_WORDS), "reveal": (revealed, SHARE_WORDS)}
        if message.content.shape != form[message.stage]:
            raise Refused(
                f"the reply of {message.silo} to the list of round {message.round} has the wrong form"
            )

    def opened(
        self, listed: ListMessage, answers: Sequence[AnswerMessage], layout: ShareLayout
    ) -> ListMessage:
        """The list with its countersignatures and the sealed shares, by which members reveal."""
        signed = self.replies(listed.round, listed.attempt, "countersign")
        places = [layout.place(name) - 1 for name in listed.members]
        dealt = {one.silo: one.shares for one in answers}
        shares = []
        for name in listed.members:
            sealed = dealt[name]
            assert sealed is not None
            shares.append(sealed[places])
        return ListMessage(
            listed.run,
            listed.round,
            listed.attempt,
            listed.question,
            listed.members,
            tuple(signed),
            np.array(list(signed.values()), dtype=np.uint64),
            np.array(shares, dtype=np.uint64),
        )
