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
from discreet.silos.shared.prototype_agreement import PrototypeAgreement
from discreet.silos.shared.prototype_messages import encode_prototypes
from discreet.silos.shared.store import Store, StoreOwner
from discreet.silos.silo.checks import check_public
from discreet.silos.silo.silo_ledger import check_noise_key

__all__ = ["APPLICATION", "PrototypeSilo", "open_store", "status_of"]

APPLICATION = 0x64737073
# A silo that found itself too small has no message, and the words of its refusal in the place of it.
_SCHEMA = """
CREATE TABLE outcome(
    one INTEGER PRIMARY KEY CHECK (one = 1),
    message BLOB,
    refusal TEXT,
    statement TEXT NOT NULL,
    CHECK ((message IS NULL) <> (refusal IS NULL))
) STRICT
"""


class PrototypeSilo(StoreOwner[Store]):
    """Makes and keeps the message of one silo.

    Parameters
    ----------
    store
        File of the silo's own; it holds the message and what it cost, so losing it means losing track of that.
    agreement, name
        What was signed, and as whom.
    ratings
        Private, over the agreed catalogue and range.
    fixed_noise_key_not_private
        Leave it out. For tests that must see the same noise twice.
    journal
        This run in the ledger of the silo's data set (:func:`~discreet.silos.silo.silo_ledger.begin_run`): every charge
        is written there too, before its noise is drawn.

    Notes
    -----
    **Privacy.** All that leaves is the message, which is (epsilon, delta)-DP by itself
    (``methods/prototypes/proofs/prototypes.md``),
    or the word that the noisy number of users was too small, which is part of it. Either is stored with its
    statement in one transaction before it leaves, and is never drawn again: killed before that, the silo has let
    nothing out; killed after it, it sends the same bytes.
    """

    def __init__(
        self,
        store: Path,
        agreement: PrototypeAgreement,
        name: str,
        ratings: Ratings,
        *,
        fixed_noise_key_not_private: bytes | None = None,
        journal: LedgerRun | None = None,
    ) -> None:
        check_public(agreement, ratings)
        check_noise_key(fixed_noise_key_not_private, journal)
        if name not in agreement.roster:
            raise Refused(f"{name} is not in the agreement")
        self.agreement, self.name = agreement, name
        self._ratings = ratings
        self._noise_key, self._journal = fixed_noise_key_not_private, journal
        self._store = open_store(Path(store), agreement, name)

    def answer(self, question: bytes = b"") -> bytes:
        """The message, ready to be sent: it is stored and paid for.

        Raises
        ------
        Refused
            When the server asks for anything: the agreement says it all. Nothing was charged.
        TooFewUsers
            When the noisy number of users is too small. That was charged, and comes again whenever asked.
        """
        if question:
            raise Refused("the server asks for something, where the agreement leaves nothing to ask")
        with self._store.lock:
            if not self._outcome():
                self._make()
            [(message, refusal, _)] = self._outcome()
            if message is None:
                raise TooFewUsers(str(refusal))
            return bytes(message)

    def status(self) -> dict[str, Any]:
        """Where the silo stands, for people and for JSON."""
        with self._store.lock:
            return status_of(self._store, self.agreement, self.name)

    def statement(self) -> Statement | None:
        """What this silo's users were promised and have paid; ``None`` while nothing was made."""
        with self._store.lock:
            rows = self._outcome()
            if not rows:
                return None
        stated = Statement.from_json(rows[0][2])
        return stated.with_earlier(None if self._journal is None else self._journal.earlier)

    def _outcome(self) -> list[tuple[Any, ...]]:
        return self._store.rows("SELECT message, refusal, statement FROM outcome")

    def _make(self) -> None:
        """Charge, draw and keep, in this order of consequence: nothing is known to anybody before it is kept."""
        method = PrivatePrototypes(self.agreement.settings)
        noise = None if self._noise_key is None else PureNoise(key=self._noise_key)
        message, refusal = None, None
        paid: Statement | None
        try:
            made = method.message(self._ratings, self.agreement.epsilon, noise=noise, journal=self._journal)
            message, paid = encode_prototypes(self.agreement, self.name, made), made.statement
        except TooFewUsers as small:
            refusal, paid = str(small), small.statement
        assert paid is not None
        with self._store.transaction():
            self._store.write("INSERT INTO outcome VALUES (1, ?, ?, ?)", message, refusal, paid.to_json())


def open_store(path: Path, agreement: PrototypeAgreement, name: str) -> Store:
    """A silo's store."""
    owner = f"{agreement.digest} silo {name}"
    return Store(path, APPLICATION, _SCHEMA, owner, agreement.model_dump_json())


def status_of(store: Store, agreement: PrototypeAgreement, name: str) -> dict[str, Any]:
    """Where a silo stands, as its store shows it."""
    rows = store.rows("SELECT length(message) FROM outcome")
    sent = bool(rows) and rows[0][0] is not None
    return {
        "silo": name,
        "run": agreement.run_id,
        "messages": int(sent),
        "bytes": rows[0][0] if sent else 0,
        "epsilon_spent": agreement.epsilon if rows else 0.0,
        "epsilon": agreement.epsilon,
        "delta": agreement.delta,
    }
