"""The coordinator: asks, adds up what comes back, releases, and asks again. It holds nobody's ratings.

Everything it has received and released is in its store before anybody is told, so it can be killed at any point and
goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from discreet.catalogue import Catalogue, ItemFeatures
from discreet.errors import BudgetInvalid, DiscreetError, Refused, SettingsInvalid
from discreet.model import Model
from discreet.privacy.accounting import compose, epsilon_from
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.noise import Noise, why_not_private
from discreet.privacy.gaussian.totals import Total
from discreet.privacy.ledger import Ledger
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.masks import to_totals
from discreet.silos.shared.messages import (
    PRESENT,
    AnswerMessage,
    PresentMessage,
    QuestionMessage,
    RollCall,
    digest,
)
from discreet.silos.shared.outcome import build_model
from discreet.silos.shared.position import Position, charge_detail, charge_name
from discreet.silos.shared.store import COORDINATOR, Store, StoreOwner, pack, unpack
from discreet.types import Floats

__all__ = ["Coordinator", "release_sum"]

Release = Mapping[str, Floats]
# What 2^32 users can add up to who count twice. Masks that do not cancel leave numbers anywhere below 2^63.
_LARGEST_SUM = 2**62


class Coordinator(StoreOwner):
    """Runs the protocol of an agreement. Safe to use from several threads."""

    def __init__(
        self,
        store: Path,
        agreement: Agreement,
        *,
        features: ItemFeatures | None = None,
    ) -> None:
        self.agreement = agreement
        self._position = Position(agreement, features)
        self._ledger = Ledger(agreement.budget)  # what any silo may have been charged, repeats included
        self._last_release: Release = {}
        self._called = self._asked = self._ended = False
        self._failure: BudgetInvalid | Refused | None = None
        self._charged = False  # the current question, because its release is out and cannot be used
        self._store = Store(Path(store), agreement.digest, COORDINATOR)
        self._replay()

    def question(self) -> bytes | None:
        """What to answer now, the same bytes for every silo: a roll call, then its question; ``None`` at the end."""
        with self._store.lock:
            self._proceed()
            if self._failure is not None:
                raise self._failure
            if self.finished:
                return None
            return self._stored_question() if self._asked else self._call().encode()

    def receive(self, silo_name: str, body: bytes) -> dict[str, Any]:
        """Take a silo's answer; it is on the disk when this returns."""
        with self._store.lock:
            self._proceed()
            if body[:4] == PRESENT:
                return {"repeated": self._receive_present(silo_name, body)}
            message = AnswerMessage.decode(body, self.agreement)
            if message.silo != silo_name:
                raise Refused(f"{silo_name} sent an answer in the name of {message.silo}")
            known = {
                entry.silo: entry.facts["digest"]
                for entry in self._store.entries("answer", at=(message.round, message.attempt))
            }.get(silo_name)
            if known not in (None, digest(body)):
                raise Refused(
                    f"{silo_name} has answered round {message.round} already, with other bytes: it has two copies with "
                    "different ratings or keys. The first answer stands; end the other copy"
                )
            if known is None:
                self._check(message)
                place = message.round, message.attempt, silo_name
                with self._store.transaction():
                    self._store.add(
                        "answer", *place, body=body, digest=digest(body), fixed_noise=message.fixed_noise
                    )
            return {"repeated": known is not None}

    def drop(self, *silo_names: str) -> None:
        """Give up waiting for some silos: they are out of the run.

        While the roll is called that costs nothing. A question that was asked is asked again of the others, who pay
        for it once more, however many are dropped together. Of a run that has failed any silo
        can be dropped: whoever answered otherwise than agreed is not awaited any more.
        """
        with self._store.lock:
            self._proceed()
            waiting = self._waiting_for() if self._failure is None else self._position.roster
            if not silo_names:
                raise Refused("name the silos to go on without")
            for name in silo_names:
                if name not in waiting:
                    raise Refused(f"{name} is not awaited, so there is nothing to give up")
            roster = [name for name in self._position.roster if name not in silo_names]
            self._go_on_with(roster, repeat=self._asked, stored=False)
            self._proceed()

    def finish_early(self) -> None:
        """End the run, failed or not, with what the completed rounds have taught."""
        with self._store.lock:
            self._proceed()
            if self.finished:
                raise Refused("the run is over; 'discreet federate model' saves its model")
            if self._position.trained() is None:
                raise Refused(
                    "a run can be ended early after its second release and before its last; so far there is nothing "
                    f"to make a model of (what silos may have paid: mu {self._charged_mu():.4g})"
                )
            with self._store.transaction():
                self._store.add("end", self._position.round)
                self._store.forget_bodies("answer")
            self._store.forget_deleted()
            self._end()

    @property
    def finished(self) -> bool:
        """Whether there is a model."""
        return self._state() == "finished"

    def status(self) -> dict[str, Any]:
        """Where the run stands, for people and for JSON."""
        with self._store.lock:
            self._proceed()
            position, spent, traffic = self._position, self._charged_mu(), self.traffic()
            # A run that has spent everything owes its budget.
            epsilon = min(epsilon_from(spent, self.agreement.delta), self.agreement.epsilon) if spent else 0.0
            return {
                "run": self.agreement.run_id,
                "state": self._state(),
                "reason": None if self._failure is None else str(self._failure),
                "round": position.round,
                "question": None if position.question is None else self._cost()[0],
                "rounds": position.round if self._ended else position.rounds,
                "attempt": position.attempt,
                "roster": list(position.roster),
                "stage": "answer" if self._asked else "roll call",
                "waiting_for": self._waiting_for(),
                "bytes_up": sum(row["bytes_up"] for row in traffic),
                "bytes_down": sum(row["bytes_down"] for row in traffic),
                "charged_mu": spent,
                "epsilon_spent": epsilon,
                "epsilon": self.agreement.epsilon,
                "delta": self.agreement.delta,
            }

    def traffic(self) -> list[dict[str, int]]:
        """Bytes down and up, question by question, roll calls included."""
        sums: dict[tuple[int, int], dict[str, int]] = {}
        for entry in self._store.entries("call", "present", "question", "answer"):
            row = sums.setdefault((entry.round, entry.attempt), {"bytes_down": 0, "bytes_up": 0})
            way = "bytes_up" if entry.kind in ("present", "answer") else "bytes_down"
            row[way] += entry.size
        return [
            {"round": round_, "attempt": attempt, **row} for (round_, attempt), row in sorted(sums.items())
        ]

    def model(self, catalogue: Catalogue) -> Model:
        """The model, once the run is over."""
        with self._store.lock:
            self._proceed()
            if self._failure is not None:
                raise self._failure
            if not self.finished:
                raise Refused("the run is not over yet; there is no model")
            drawn = (entry.facts["fixed_noise"] for entry in self._store.entries("answer", "release"))
            fixed = any(drawn) or why_not_private(self._server_noise(), Noise) is not None
            trained = self._position.trained()
            assert trained is not None
            return build_model(self.agreement, trained, catalogue, self._ledger, fixed_noise_key=fixed)

    def _state(self) -> str:
        if self._failure is not None:
            return "failed"
        return "finished" if self._ended or self._position.question is None else "running"

    def _waiting_for(self) -> list[str]:
        if self._state() != "running":
            return []
        here = self._answered() if self._asked else self._present()
        return [name for name in self._position.roster if name not in here]

    def _answered(self) -> set[str]:
        return {entry.silo for entry in self._store.entries("answer", at=self._position.place)}

    def _present(self) -> dict[str, str]:
        """Signatures of the roll call, by silo; where all are in one process, everybody is there unsigned."""
        if self.agreement.signing_keys is None:
            return dict.fromkeys(self._position.roster, "")
        roster = list(self._position.roster)
        return {
            entry.silo: entry.facts["signature"]
            for entry in self._store.entries("present", at=self._position.place)
            if entry.facts["roster"] == roster
        }

    def _receive_present(self, silo_name: str, body: bytes) -> bool:
        """Take a silo's word that it is there; whether it had come before."""
        message = PresentMessage.decode(body, self.agreement)
        if message.silo != silo_name:
            raise Refused(f"{silo_name} signed a roll call in the name of {message.silo}")
        call = message.call
        known = any(
            (entry.silo, tuple(entry.facts["roster"])) == (silo_name, call.roster)
            for entry in self._store.entries("present", at=(call.round, call.attempt))
        )
        if known:
            return True
        self._check_member(message.silo)
        if self._state() != "running" or self._asked or call != self._call():
            raise Refused(f"the roll of round {call.round} with these silos is not being called (any more)")
        with self._store.transaction():
            self._store.add(
                *("present", call.round, call.attempt, silo_name),
                size=len(body),
                roster=call.roster,
                signature=message.signature,
            )
        return False

    def _check_member(self, silo: str) -> None:
        if silo not in self.agreement.silos:
            raise Refused(f"{silo} is not in the agreement")
        if silo not in self._position.roster:
            raise Refused(f"{silo} is out of this run: the others went on without it")

    def _check(self, message: AnswerMessage) -> None:
        position = self._position
        self._check_member(message.silo)
        if self._state() != "running":
            raise Refused("the run is over")
        if (message.round, message.attempt) != position.place:
            raise Refused(
                f"an answer to round {message.round} (attempt {message.attempt}) came where round {position.round} "
                f"(attempt {position.attempt}) is under way"
            )
        if not self._asked:
            raise Refused(f"round {position.round} has not been asked yet: the roll is being called")
        if message.question != digest(self._stored_question()):
            raise Refused(
                f"{message.silo} has answered another question than was asked in round {position.round}"
            )
        if len(message.masked) != _answer_size(position):
            raise Refused(f"the answer of {message.silo} has the wrong length")

    def _proceed(self) -> None:
        """Ask as soon as all are there, release as soon as all answers are in. After a crash the run goes on here."""
        while self._state() == "running":
            if not self._called:
                self._begin()
            if self._waiting_for():
                return
            if self._asked:
                self._release()
            else:
                self._ask()

    def _begin(self) -> None:
        """Begin to call the roll; nothing of the answers to an attempt that it replaces is kept."""
        signed = self.agreement.signing_keys is not None
        size = len(self._call().encode()) * len(self._position.roster) if signed else 0
        with self._store.transaction():
            self._store.add("call", *self._position.place, size=size, roster=self._position.roster)
            self._store.forget_bodies("answer")
        self._store.forget_deleted()
        self._called = True

    def _ask(self) -> None:
        """Ask what all silos of the roster have signed to answer."""
        position, present = self._position, self._present()
        assert position.question is not None
        signatures = tuple(present[name] for name in position.roster if present[name])
        body = QuestionMessage(
            *(self.agreement.run_id, position.round, position.attempt, position.roster),
            *(position.question, self._last_release, signatures),
        ).encode()
        with self._store.transaction():
            self._store.add("question", *position.place, body=body, size=len(body) * len(position.roster))
        self._asked = True

    def _release(self) -> None:
        """Release the sum of all answers, and keep nothing longer than needed of what it was made from."""
        place, noise = self._position.place, self._server_noise()
        # One at a time: they may be long.
        bodies = (self._store.body("answer", *place, name) or b"" for name in sorted(self._answered()))
        try:
            release = release_sum(self.agreement, self._position, bodies, noise)
        except Refused as error:
            self._failure = error
            return
        fixed = why_not_private(noise, Noise) is not None
        with self._store.transaction():
            self._store.add("release", *place, body=pack(release), fixed_noise=fixed)
            self._store.forget_bodies("answer")
        self._store.forget_deleted()
        self._take(release)

    def _take(self, release: Release) -> None:
        """All have answered and this was released."""
        name, mu = self._cost()
        self._ledger.redeem(self._ledger.charge(name, mu=mu, detail=self._detail()))
        self._last_release = release
        position = self._position.copy()
        try:
            position.take(release)
        except (BudgetInvalid, Refused) as error:
            self._failure, self._charged = error, True
        else:
            self._position, self._asked, self._called = position, False, False

    def _go_on_with(self, roster: Sequence[str], *, repeat: bool, stored: bool) -> None:
        """Go on without some silos: at no cost while the roll is called, else by repeating the round."""
        if self._charged:
            raise Refused(
                f"round {self._position.round} was released and cannot be asked again; end the run with "
                "'discreet federate finish'"
            )
        position = self._position.copy()
        if repeat:
            position.repeat(roster)
            self._give_up()
        else:
            position.leave(roster)
        self._position, self._failure, self._asked, self._called = position, None, False, stored
        if not stored:
            self._begin()

    def _end(self) -> None:
        self._give_up()
        self._ended, self._failure = True, None

    def _give_up(self) -> None:
        """Charge an attempt that came to nothing: silos may have answered it."""
        if self._charged or not self._asked:
            return
        name, mu = self._cost()
        detail = self._detail() | {"released": False}
        self._ledger.charge(f"{name} (given up)", mu=mu, detail=detail)

    def _charged_mu(self) -> float:
        """All costs, with that of the question that was asked last: silos may have answered it, whatever came of it."""
        spent = self._ledger.spent_mu
        return (
            spent if self.finished or self._charged or not self._asked else compose([spent, self._cost()[1]])
        )

    def _cost(self) -> tuple[str, float]:
        question = self._position.question
        assert question is not None
        return charge_name(question.name, self._position.attempt), question.mu

    def _detail(self) -> dict[str, Any]:
        """As in the silos' ledgers."""
        return charge_detail(len(self._position.roster), *self._position.place)

    def _call(self) -> RollCall:
        return RollCall(self.agreement.run_id, *self._position.place, self._position.roster)

    def _stored_question(self) -> bytes:
        return self._store.body("question", *self._position.place) or b""

    def _server_noise(self) -> Noise:
        return Noise()

    def _replay(self) -> None:
        """Take the steps again that the store remembers."""
        for entry in self._store.entries("call", "question", "release", "end"):
            if entry.kind == "call":
                roster = tuple(entry.facts["roster"])
                if entry.attempt > self._position.attempt:
                    self._go_on_with(roster, repeat=True, stored=True)
                elif roster != self._position.roster:
                    self._go_on_with(roster, repeat=False, stored=True)
                self._called = True
            elif entry.kind == "question":
                self._asked = True
            elif entry.kind == "release":
                self._take(unpack(self._store.body("release", entry.round, entry.attempt)))
            else:
                self._end()


def _answer_size(position: Position) -> int:
    """Numbers in an answer to the current question."""
    return sum(prod(shape) for shape in position.shapes().values())


def release_sum(
    agreement: Agreement, position: Position, answers: Iterable[bytes], noise: Noise
) -> dict[str, Floats]:
    """The release of the current question from all answers to it.

    Notes
    -----
    **Privacy**. The sum is all that the masks leave visible. Noise is in it already, or is added here by the gate.
    """
    question, forms = position.question, position.forms()
    assert question is not None
    total = np.zeros(_answer_size(position), dtype=np.uint64)
    for body in answers:
        total += AnswerMessage.decode(body, agreement).masked
    values = to_totals(total, list(position.shapes().values()))
    totals = [Total(form.name, value, form.sigmas(1.0)) for form, value in zip(forms, values, strict=True)]
    # A ledger of its own: the run's is charged once the release is on the disk.
    gate, noised = Gate(Ledger(agreement.budget), noise), agreement.noise == "shares"
    try:
        for one in totals:
            if one.value.max(initial=0) >= _LARGEST_SUM or one.value.min(initial=0) <= -_LARGEST_SUM:
                raise SettingsInvalid(f"{one.name}: a sum passes 2^62")
        return gate.release_totals(question.name, forms, totals, mu=question.mu, noised=noised)
    except DiscreetError as error:
        raise Refused(
            f"wrong shares: the answers to round {position.round} do not add up to a sum over users, so some silo has "
            f"masked or summed otherwise than agreed ({error}). Go on without that silo ('discreet federate drop'), or "
            "end the run with the rounds before ('discreet federate finish')"
        ) from None
