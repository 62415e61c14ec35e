"""One organisation: holds ratings, follows the agreement, and answers what follows from it, once and for one charge.

Nothing that the server says is taken on trust. The silo keeps its own copy of the conversation, fed with the
releases that come with the questions, and its own ledger; both survive a crash with the answers given. Proof note:
``proofs/federated.md``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.data.ratings import Ratings
from discreet.engines.memory import MemoryEngine
from discreet.errors import BudgetExceeded, BudgetInvalid, Refused, SettingsInvalid
from discreet.methods.method import PrivateMethod
from discreet.methods.private_half import PrivateHalf
from discreet.methods.registry import find_method
from discreet.privacy.account.ledger_file import LedgerRun
from discreet.privacy.gaussian.noise import why_not_private
from discreet.privacy.gaussian.shares import ShareNoise, SiloGate
from discreet.privacy.gaussian.totals import Total
from discreet.privacy.ledger import Ledger
from discreet.privacy.statement import Statement
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.masks import from_totals, mask, noise_secret, public_key
from discreet.silos.shared.messages import (
    CALL,
    AnswerMessage,
    PresentMessage,
    QuestionMessage,
    RollCall,
    check_signed,
    digest,
)
from discreet.silos.shared.outcome import state
from discreet.silos.shared.position import Position, charge_detail, charge_name
from discreet.silos.shared.signing import SigningKey
from discreet.silos.shared.store import Store, pack, unpack
from discreet.silos.silo.checks import check_question, check_ratings, same_release
from discreet.silos.silo.party import Party
from discreet.types import Floats

__all__ = ["Silo"]

# Reasons kept; a server that sends nonsense for ever must not fill the disk.
_MOST_REFUSALS = 100


class Silo(Party):
    """Answers questions about its ratings.

    Notes
    -----
    **Privacy**. Each answer costs what the schedule of the agreement says and is charged before it leaves, in the
    same transaction that stores it. Asked the same again, the silo sends the same bytes, until the next question comes.
    """

    agreement: Agreement

    def __init__(
        self,
        store: Path,
        agreement: Agreement,
        name: str,
        private_key: bytes,
        ratings: Ratings,
        *,
        journal: LedgerRun | None = None,
        signing: SigningKey | None = None,
    ) -> None:
        check_ratings(agreement, ratings)
        assert ratings.catalogue is not None
        features, self._paid = ratings.catalogue.features, ratings.catalogue.paid
        if agreement.silos.get(name) != public_key(private_key):
            raise Refused(f"the private key is not that of {name} in the agreement")
        self.agreement, self.name = agreement, name
        self._private_key, self._signing = private_key, signing
        self._engine = MemoryEngine(_private_half(agreement), ratings)
        self._domain = ratings.rules.domain(explicit=ratings.explicit, listed=True)
        self._journal = journal
        self._store = Store(Path(store), agreement.digest, f"silo {name}")
        self._position, self._begun = Position(agreement, features), False
        self._release: Mapping[str, Floats] = {}
        self._ledger: Ledger = self._own_ledger()
        self._replay()

    def answer(self, question: bytes) -> bytes:
        """The answer to a question, ready to be sent: it is stored and paid for."""
        with self._store.lock:
            try:
                return self._answer(question)
            except Refused as refusal:
                self._log(str(refusal))
                raise

    def status(self) -> dict[str, Any]:
        """Where the silo stands, for people and for JSON."""
        with self._store.lock:
            answered, ledger = self._store.entries("answer"), self._stored_ledger()
            last = answered[-1] if answered else None
            return {
                "silo": self.name,
                "run": self.agreement.run_id,
                "finished": self.finished,
                "round": None if last is None else last.round,
                "question": None if last is None else last.facts["charge"],
                "attempt": 0 if last is None else last.attempt,
                "charged_mu": ledger.spent_mu,
                "epsilon_spent": ledger.epsilon_spent if ledger.charges else 0.0,
                "epsilon": self.agreement.epsilon,
                "delta": self.agreement.delta,
                "refusals": self.refusals(),
                "rounds": self._position.rounds,
                "roster": list(self._position.roster),
            }

    def refusals(self) -> list[str]:
        """Why things were refused, each reason once."""
        return [entry.facts["reason"] for entry in self._store.entries("refusal")]

    def statement(self) -> Statement:
        """What this silo's users were promised and have paid, from the silo's own ledger."""
        with self._store.lock:
            stated = state(
                self.agreement,
                self._stored_ledger(),
                fixed_noise_key=any(entry.facts["fixed_noise"] for entry in self._store.entries("answer")),
                domain=self._domain,
                paid=self._paid,
            )
        return stated.with_earlier(None if self._journal is None else self._journal.earlier)

    def paid(self) -> Statement | None:
        """What the silo's users have paid; ``None`` where they have paid nothing."""
        return self.statement() if self._store.entries("answer") else None

    def _answer(self, body: bytes) -> bytes:
        if body[:4] == CALL:
            return self._present(RollCall.decode(body, self.agreement))
        message = QuestionMessage.decode(body, self.agreement)
        known = self._store.entries("answer", at=(message.round, message.attempt))
        if known:
            if known[0].facts["question"] != digest(body):
                raise Refused(
                    f"round {message.round} was answered already; a second, different question for it is refused"
                )
            kept = self._store.body("answer", message.round, message.attempt)
            if kept is None:
                raise Refused(f"round {message.round} is over, and the answer to it is no longer kept")
            return kept
        position = self._next(message)
        expected = position.question
        if expected is None:
            raise Refused("the server asks for a round more than was agreed; the run is over")
        call = RollCall(message.run, message.round, message.attempt, message.roster)
        check_signed(self.agreement, call, message.signatures)
        check_question(message.question, expected, exact_cost=self.agreement.noise == "server")
        try:
            answer = self._compute(message, digest(body))
            self._keep(message, digest(body), answer)
        except BaseException:
            # What was charged in memory has not left: the store says what was spent.
            self._ledger = self._own_ledger()
            raise
        self._position, self._begun, self._release = position, True, message.release
        return answer.encode()

    def _next(self, message: QuestionMessage) -> Position:
        """Where the run stands if this question is right; refuses any other order than the agreed one."""
        if self.name not in message.roster:
            raise Refused(f"{self.name} is out of this run: a round was asked without it")
        position = self._position.copy()
        due = position.round + 1 if self._begun else 0
        again = self._begun and message.round == position.round and message.attempt > position.attempt
        if not again and message.round != due:
            raise Refused(f"the server asks about round {message.round} where round {due} is due")
        if again and not same_release(message.release, self._release):
            raise Refused("the server gives two accounts of what the round before released")
        if not self._begun and message.release:
            raise Refused("nothing was released before the first round")
        try:
            self._advance(position, (message.round, message.attempt), message.roster, message.release)
        except BudgetInvalid as error:
            raise Refused(f"the run ends here: {error}") from None
        return position

    def _advance(
        self,
        position: Position,
        place: tuple[int, int],
        roster: tuple[str, ...],
        release: Mapping[str, Floats],
    ) -> None:
        """Step on to a question that is right; before the first one there is nothing to take."""
        round_, attempt = place
        if self._begun and round_ > position.round:
            position.take(release)
        if attempt > position.attempt:
            position.repeat(roster, attempt - position.attempt)
        elif roster != position.roster:
            if self.agreement.signing_keys is None:
                raise Refused("the silos of this round are not those of the agreement or of the round before")
            position.leave(roster)

    def _present(self, call: RollCall) -> bytes:
        """The silo's word that it is there; nothing is charged or stored."""
        if self.name not in call.roster:
            raise Refused(f"{self.name} is out of this run: the others go on without it")
        if self._signing is None:
            raise Refused("a roll call is signed, and this silo was opened without its signing key")
        if self._begun and call.round < self._position.round:
            raise Refused(f"the roll is called for round {call.round}, which is over")
        return PresentMessage.sign(call, self._signing, self.agreement).encode()

    def _compute(self, message: QuestionMessage, question: str) -> AnswerMessage:
        """Totals, noise and mask; the charge is in the ledger and not yet in the store."""
        question_ = message.question
        forms, sums = question_.mechanism.empty(), self._engine.totals(question_)
        shares = self._shares(message, question, sums)
        not_own = why_not_private(shares, ShareNoise) is not None
        gate = SiloGate(self._ledger, shares if self.agreement.noise == "shares" else None)
        detail = charge_detail(len(message.roster), message.round, message.attempt)
        name = charge_name(message.question.name, message.attempt)
        try:
            vector = from_totals(gate.totals(name, forms, sums, mu=question_.mu, detail=detail))
        except (BudgetExceeded, SettingsInvalid) as error:
            raise Refused(str(error)) from None
        vector += mask(
            self._private_key,
            self.name,
            {name: self.agreement.silos[name] for name in message.roster},
            salt=bytes.fromhex(self.agreement.digest),
            context=bytes.fromhex(question),
            size=len(vector),
        )
        return AnswerMessage(
            message.run, message.round, message.attempt, self.name, question, not_own, vector
        )

    def _keep(self, message: QuestionMessage, question: str, answer: AnswerMessage) -> None:
        """Charge and answer together, on the disk when this returns.

        The bytes of earlier answers go: that this question came shows that they arrived, or are not wanted any more.
        """
        charge, place = self._ledger.charges[-1], (message.round, message.attempt)
        with self._store.transaction():
            self._store.forget_bodies("answer")
            self._store.add("release", *place, body=pack(dict(message.release)))
            self._store.add(
                *("answer", *place),
                body=answer.encode(),
                roster=message.roster,
                question=question,
                charge=charge.name,
                mu=charge.mu,
                detail=dict(charge.detail),
                fixed_noise=answer.fixed_noise,
            )
        self._store.forget_deleted()

    def _shares(self, message: QuestionMessage, question: str, sums: Sequence[Total]) -> ShareNoise:
        """This silo's part of the noise, which follows from its key, the question and the totals it is added to."""
        honest = self.agreement.honest_among(len(message.roster))
        totals = hashlib.sha256()
        for total in sums:
            totals.update(f"{total.name} {total.value.shape}".encode())
            totals.update(total.value.tobytes())
        secret = noise_secret(
            self._private_key,
            salt=bytes.fromhex(self.agreement.digest),
            context=bytes.fromhex(question),
            totals=totals.digest(),
        )
        return ShareNoise.keyed(honest, secret)

    def _stored_ledger(self) -> Ledger:
        """All that was charged, charged again to a new ledger."""
        ledger = Ledger(self.agreement.budget)
        for entry in self._store.entries("answer"):
            charge = ledger.charge(entry.facts["charge"], mu=entry.facts["mu"], detail=entry.facts["detail"])
            ledger.redeem(charge)
        return ledger

    def _own_ledger(self) -> Ledger:
        """What the store says was charged; further charges go into the journal first."""
        ledger = self._stored_ledger()
        if self._journal is not None:
            self._journal.settle(ledger.charges)
            ledger.keep_in(self._journal)
        return ledger

    def _log(self, reason: str) -> None:
        """Keep why something was refused, each reason once."""
        known, reason = self.refusals(), reason[:500]
        if len(known) < _MOST_REFUSALS and reason not in known:
            with self._store.transaction():
                self._store.add("refusal", reason=reason)

    def _replay(self) -> None:
        """Take the steps again that the store remembers."""
        for entry in self._store.entries("answer"):
            place = entry.round, entry.attempt
            release = unpack(self._store.body("release", *place))
            self._advance(self._position, place, tuple(entry.facts["roster"]), release)
            self._begun, self._release = True, release


def _private_half(agreement: Agreement) -> type[PrivateHalf]:
    method = find_method(agreement.method)
    if not issubclass(method, PrivateMethod) or method.public_half is not agreement.half:
        raise Refused(f"{agreement.method} is not the private method that the agreement's questions are of")
    return method.private_half
