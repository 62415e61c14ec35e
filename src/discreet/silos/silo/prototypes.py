"""A silo in a run of prototypes: one message, made once, charged once, the same bytes ever after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.data.ratings import Ratings
from discreet.errors import Refused
from discreet.methods.prototypes.private.rows import TooFewUsers
from discreet.methods.prototypes.private.silo import PrivatePrototypes
from discreet.privacy.account.ledger_file import LedgerRun
from discreet.privacy.pure.noise import PureNoise
from discreet.privacy.statement import Statement
from discreet.silos.shared.agreement import PrototypeAgreement
from discreet.silos.shared.messages import encode_prototypes
from discreet.silos.shared.store import Store
from discreet.silos.silo.checks import check_public
from discreet.silos.silo.party import Party

__all__ = ["PrototypeSilo"]


class PrototypeSilo(Party):
    """Makes and keeps the message of one silo.

    Notes
    -----
    **Privacy.** All that leaves is the message, which is (epsilon, delta)-DP by itself
    (``methods/prototypes/proofs/prototypes.md``),
    or the word that the noisy number of users was too small, which is part of it. Either is stored with its
    statement in one transaction before it leaves, and is never drawn again: killed before that, the silo has let
    nothing out; killed after it, it sends the same bytes.
    """

    agreement: PrototypeAgreement
    _noise: PureNoise | None = None  # tests have their own

    def __init__(
        self,
        store: Path,
        agreement: PrototypeAgreement,
        name: str,
        ratings: Ratings,
        *,
        journal: LedgerRun | None = None,
    ) -> None:
        check_public(agreement, ratings)
        if name not in agreement.roster:
            raise Refused(f"{name} is not in the agreement")
        self.agreement, self.name = agreement, name
        self._ratings = ratings
        self._journal = journal
        self._store = Store(Path(store), agreement.digest, f"silo {name}")

    def answer(self, question: bytes = b"") -> bytes:
        """The message, ready to be sent: it is stored and paid for."""
        if question:
            raise Refused("the server asks for something, where the agreement leaves nothing to ask")
        with self._store.lock:
            if not self._outcome():
                self._make()
            [made] = self._outcome()
            if made.facts["refusal"] is not None:
                raise TooFewUsers(made.facts["refusal"])
            return self._store.body("answer") or b""

    def status(self) -> dict[str, Any]:
        """Where the silo stands, for people and for JSON."""
        with self._store.lock:
            made = self._outcome()
            sent = sum(one.size for one in made)
            return {
                "silo": self.name,
                "run": self.agreement.run_id,
                "finished": self.finished,
                "messages": int(sent > 0),
                "bytes": sent,
                "epsilon_spent": self.agreement.epsilon if made else 0.0,
                "epsilon": self.agreement.epsilon,
                "delta": self.agreement.delta,
            }

    def statement(self) -> Statement | None:
        """What this silo's users were promised and have paid; ``None`` while nothing was made."""
        made = self._outcome()
        if not made:
            return None
        stated = Statement.from_json(made[0].facts["statement"])
        return stated.with_earlier(None if self._journal is None else self._journal.earlier)

    paid = statement

    def _outcome(self) -> list[Any]:
        """A silo that found itself too small has no message, and the words of its refusal in the place of it."""
        return self._store.entries("answer")

    def _make(self) -> None:
        """Charge, draw and keep, in this order of consequence: nothing is known to anybody before it is kept."""
        method = PrivatePrototypes(self.agreement.settings)
        message, refusal = b"", None
        paid: Statement | None
        try:
            made = method.message(
                self._ratings, self.agreement.epsilon, noise=self._noise, journal=self._journal
            )
            message, paid = encode_prototypes(self.agreement, self.name, made), made.statement
        except TooFewUsers as small:
            refusal, paid = str(small), small.statement
        assert paid is not None
        with self._store.transaction():
            self._store.add("answer", body=message, refusal=refusal, statement=paid.to_json())
