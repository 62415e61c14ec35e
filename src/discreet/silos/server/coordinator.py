"""The coordinator: asks, adds up what comes back, releases, and asks again. It holds nobody's ratings.

Everything it has received and released is in its store before anybody is told, so it can be killed at any point and
goes on from there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.catalogue import Catalogue, ItemFeatures
from discreet.errors import Refused
from discreet.model import Model
from discreet.privacy.accounting import epsilon_from
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.own_noise import why_not_private
from discreet.silos.server.coordinator_store import CoordinatorStore
from discreet.silos.server.progress import RunProgress
from discreet.silos.server.releasing import answer_size, release_sum
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.messages import AnswerMessage, digest
from discreet.silos.shared.outcome import build_model
from discreet.silos.shared.position import Position
from discreet.silos.shared.roll_call import PRESENT, PresentMessage, RollCall
from discreet.silos.shared.store import StoreOwner

__all__ = ["Coordinator"]


class Coordinator(StoreOwner[CoordinatorStore]):
    """Runs the conversation of an agreement. Safe to use from several threads.

    Parameters
    ----------
    store
        File of the coordinator's own.
    agreement
        The same file that every silo has.
    features
        Of the catalogue's items, where features were agreed on.
    fixed_noise_key_not_private
        Leave it out. For tests that must see the same noise twice (noise of the server).
    """

    def __init__(
        self,
        store: Path,
        agreement: Agreement,
        *,
        features: ItemFeatures | None = None,
        fixed_noise_key_not_private: bytes | None = None,
    ) -> None:
        agreement.check_features(features)
        self.agreement = agreement
        self._noise_key = fixed_noise_key_not_private
        self._store = CoordinatorStore(Path(store), agreement)
        self._progress = RunProgress(agreement, features)
        self._bytes_down = 0
        self._called: RollCall | None = None
        self._reload()

    def question(self) -> bytes | None:
        """What to answer now, the same bytes for every silo: a roll call, then its question; ``None`` at the end.

        Raises
        ------
        BudgetInvalid, Refused
            When the run has failed: the budget does not carry it, or some silo does not keep to the agreement.
        """
        with self._store.lock:
            self._proceed()
            if self._progress.failure is not None:
                raise self._progress.failure
            if self.finished:
                return None
            position = self._progress.position
            if not self._progress.asked:
                return self._call(position).encode()
            return self._store.question(position.round, position.attempt)

    def receive(self, silo_name: str, body: bytes) -> dict[str, Any]:
        """Take a silo's answer; it is on the disk when this returns.

        Parameters
        ----------
        silo_name
            Who sent it, as far as the transport has made sure.
        body
            The message.

        Returns
        -------
        dict
            ``repeated`` (it had come before) and the status.

        Raises
        ------
        Refused
            For anything but the answer that is awaited from this silo, or the same answer again. Nothing has changed.
        """
        with self._store.lock:
            self._proceed()
            if body[:4] == PRESENT:
                return self._receive_present(silo_name, body)
            message = AnswerMessage.decode(body, self.agreement)
            if message.silo != silo_name:
                raise Refused(f"{silo_name} sent an answer in the name of {message.silo}")
            known = self._store.digest_of(message.round, message.attempt, silo_name)
            if known not in (None, digest(body)):
                raise Refused(
                    f"{silo_name} has answered round {message.round} already, with other bytes: it has two copies with "
                    "different ratings or keys. The first answer stands; end the other copy"
                )
            if known is None:
                self._check(message)
                self._store.receive(message, digest(body), body)
                self._proceed()
            return {"repeated": known is not None, **self.status()}

    def drop(self, *silo_names: str) -> None:
        """Give up waiting for some silos: they are out of the run.

        While the roll is called that costs nothing. A question that was asked is asked again of the others, who pay
        for it once more, however many are dropped together. Of a run that has failed any silo
        can be dropped: whoever answered otherwise than agreed is not awaited any more.

        Raises
        ------
        Refused
            When one of them is not awaited, or too few silos or too little of the budget would be left.
        """
        with self._store.lock:
            self._proceed()
            position = self._progress.position
            waiting = self._may_be_dropped(position)
            if not silo_names:
                raise Refused("name the silos to go on without")
            for name in silo_names:
                if name not in waiting:
                    raise Refused(f"{name} is not awaited, so there is nothing to give up")
            roster = [name for name in position.roster if name not in silo_names]
            if self._progress.failure is None and not self._progress.asked:
                position = position.copy()
                position.leave(roster)
                self._begin(position)
                self._progress.position = position
            else:
                position = self._progress.repeated(roster)
                self._begin(position)
                self._progress.repeat(position)
            self._proceed()

    def finish_early(self) -> None:
        """End the run, failed or not, with what the completed rounds have taught.

        Raises
        ------
        Refused
            When it is over, or nothing was released yet that makes a model. Nothing has changed.
        """
        with self._store.lock:
            self._proceed()
            if self._progress.over:
                raise Refused("the run is over; 'discreet federate model' saves its model")
            if self._progress.position.trained() is None:
                raise Refused(
                    "a run can be ended early after its second release and before its last; so far there is nothing "
                    f"to make a model of (what silos may have paid: mu {self._progress.charged_mu:.4g})"
                )
            self._store.end(self._progress.position.round)
            self._progress.end()

    @property
    def finished(self) -> bool:
        """Whether there is a model."""
        return self._progress.state == "finished"

    def status(self) -> dict[str, Any]:
        """Where the run stands, for people and for JSON."""
        with self._store.lock:
            progress = self._progress
            position, failure = progress.position, progress.failure
            return {
                "run": self.agreement.run_id,
                "state": progress.state,
                "reason": None if failure is None else str(failure),
                "round": position.round,
                "question": progress.name,
                "rounds": position.round if progress.ended else position.rounds,
                "attempt": position.attempt,
                "roster": list(position.roster),
                "stage": "answer" if progress.asked else "roll call",
                "waiting_for": self._waiting_for(),
                "bytes_up": self._store.bytes_up,
                "bytes_down": self._bytes_down,
                "charged_mu": progress.charged_mu,
                "epsilon_spent": self._epsilon(progress.charged_mu),
                "epsilon": self.agreement.epsilon,
                "delta": self.agreement.delta,
            }

    def _epsilon(self, mu: float) -> float:
        """Owed for so much, rounded up; a run that has spent everything owes its budget."""
        return min(epsilon_from(mu, self.agreement.delta), self.agreement.epsilon) if mu else 0.0

    def traffic(self) -> list[dict[str, int]]:
        """Bytes down and up, question by question."""
        with self._store.lock:
            return self._store.traffic()

    def model(self, catalogue: Catalogue) -> Model:
        """The model, once the run is over."""
        with self._store.lock:
            self._proceed()
            progress = self._progress
            if progress.failure is not None:
                raise progress.failure
            if progress.running:
                raise Refused("the run is not over yet; there is no model")
            fixed = self._store.fixed_noise or why_not_private(self._server_noise(), Noise) is not None
            trained = progress.position.trained()
            assert trained is not None
            return build_model(
                self.agreement,
                trained,
                catalogue,
                progress.ledger,
                fixed_noise_key=fixed,
            )

    def _waiting_for(self) -> list[str]:
        if not self._progress.running:
            return []
        position = self._progress.position
        if not self._progress.asked:
            return self._absent(position)
        answered = self._store.answered(position.round, position.attempt)
        return [name for name in position.roster if name not in answered]

    def _absent(self, position: Position) -> list[str]:
        """Who has not signed the roll call; nobody where all are in one process."""
        if self.agreement.signing_keys is None:
            return []
        present = self._store.present(position.round, position.attempt, position.roster)
        return [name for name in position.roster if name not in present]

    def _receive_present(self, silo_name: str, body: bytes) -> dict[str, Any]:
        """Take a silo's word that it is there."""
        message = PresentMessage.decode(body, self.agreement)
        if message.silo != silo_name:
            raise Refused(f"{silo_name} signed a roll call in the name of {message.silo}")
        call = message.call
        known = silo_name in self._store.present(call.round, call.attempt, call.roster)
        if not known:
            self._check_member(message)
            if not self._progress.running or self._progress.asked or call != self._called:
                raise Refused(
                    f"the roll of round {call.round} with these silos is not being called (any more)"
                )
            self._store.note_present(message, len(body))
            self._proceed()
        return {"repeated": known, **self.status()}

    def _may_be_dropped(self, position: Position) -> list[str]:
        if self._progress.failure is not None:
            return list(position.roster)
        return self._waiting_for()

    def _check_member(self, message: AnswerMessage | PresentMessage) -> None:
        if message.silo not in self.agreement.silos:
            raise Refused(f"{message.silo} is not in the agreement")
        if message.silo not in self._progress.position.roster:
            raise Refused(f"{message.silo} is out of this run: the others went on without it")

    def _check(self, message: AnswerMessage) -> None:
        position = self._progress.position
        self._check_member(message)
        if not self._progress.running:
            raise Refused("the run is over")
        if (message.round, message.attempt) != (position.round, position.attempt):
            raise Refused(
                f"an answer to round {message.round} (attempt {message.attempt}) came where round {position.round} "
                f"(attempt {position.attempt}) is under way"
            )
        if not self._progress.asked:
            raise Refused(f"round {position.round} has not been asked yet: the roll is being called")
        if message.question != digest(self._store.question(position.round, position.attempt)):
            raise Refused(
                f"{message.silo} has answered another question than was asked in round {position.round}"
            )
        if len(message.masked) != answer_size(position):
            raise Refused(f"the answer of {message.silo} has the wrong length")

    def _proceed(self) -> None:
        """Release as soon as all answers are in. After a crash in between this is where the run goes on."""
        if not self._progress.running:
            return
        position = self._progress.position
        if not self._progress.asked:
            if self._called != self._call(position):  # the store was full when the last round ended
                self._begin(position)
            if self._absent(position):
                return
            self._ask(position)
        if self._waiting_for():
            return
        round_, attempt = position.round, position.attempt
        answers = self._store.answers(round_, attempt)
        noise = self._server_noise(round_, attempt)
        try:
            release = release_sum(self.agreement, position, answers, noise)
        except Refused as error:
            self._progress.failure = error
            return
        not_own = why_not_private(noise, Noise) is not None
        self._store.release(round_, attempt, release, fixed_noise=not_own)
        self._progress.take(release)
        self._proceed()

    def _server_noise(self, round_: int = 0, attempt: int = 0) -> Noise:
        if self._noise_key is None:
            return Noise()
        return Noise.fixed_key_not_private(self._noise_key + f"|{round_}|{attempt}".encode())

    def _call(self, position: Position) -> RollCall:
        return RollCall(self.agreement.run_id, position.round, position.attempt, position.roster)

    def _begin(self, position: Position) -> None:
        """Begin to call the roll, which may end at once where all are in one process."""
        call = self._call(position)
        signed = self.agreement.signing_keys is not None
        size = len(call.encode()) * len(position.roster) if signed else 0
        self._store.call(position.round, position.attempt, position.roster, size)
        self._bytes_down += size
        self._called = call

    def _ask(self, position: Position) -> None:
        """Ask what all silos of the roster have signed to answer."""
        present = self._store.present(position.round, position.attempt, position.roster)
        body = self._progress.question(position, tuple(present[name] for name in position.roster if present))
        self._store.ask(position.round, position.attempt, position.roster, body)
        self._bytes_down += len(body) * len(position.roster)
        self._progress.asked = True

    def _reload(self) -> None:
        """Replay what the store remembers."""
        progress = self._progress
        for entry in self._store.asked():
            if entry.attempt > progress.position.attempt:
                progress.repeat(progress.repeated(entry.roster))
            elif entry.roster != progress.position.roster:
                progress.position.leave(entry.roster)
            self._bytes_down += entry.bytes_down
            self._called = self._call(progress.position)
            if entry.size is not None:
                self._bytes_down += entry.size * len(entry.roster)
                progress.asked = True
            if entry.release is not None:
                progress.take(entry.release)
        if self._store.ended:
            progress.end()
        elif progress.running and not progress.asked:
            self._proceed()
