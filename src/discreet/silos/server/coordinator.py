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
        self._asked: tuple[int, int] | None = None
        self._reload()

    def question(self) -> bytes | None:
        """What to answer now, the same bytes for every silo; ``None`` when the run is over.

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
        """Give up waiting for some silos: the round is asked again without them, and they are out of the run.

        However many are dropped together, the others pay for the round once more. Of a run that has failed any silo
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
            position = self._progress.repeated(roster)
            self._ask(position)
            self._progress.repeat(position)

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
        answered = self._store.answered(position.round, position.attempt)
        return [name for name in position.roster if name not in answered]

    def _may_be_dropped(self, position: Position) -> list[str]:
        if self._progress.failure is not None:
            return list(position.roster)
        return self._waiting_for()

    def _check_member(self, message: AnswerMessage) -> None:
        if message.silo not in self.agreement.silos:
            raise Refused(f"{message.silo} is not in the agreement")
        if message.silo not in self._progress.position.roster:
            raise Refused(f"{message.silo} is out of this run: a round was repeated without it")

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
        if self._asked != (position.round, position.attempt):  # the store was full when the last round ended
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
        if self._progress.running:
            self._ask(self._progress.position)

    def _server_noise(self, round_: int = 0, attempt: int = 0) -> Noise:
        if self._noise_key is None:
            return Noise()
        return Noise.fixed_key_not_private(self._noise_key + f"|{round_}|{attempt}".encode())

    def _ask(self, position: Position) -> None:
        body = self._progress.question(position)
        self._store.ask(position.round, position.attempt, position.roster, body)
        self._bytes_down += len(body) * len(position.roster)
        self._asked = position.round, position.attempt

    def _reload(self) -> None:
        """Replay what the store remembers."""
        progress, asked = self._progress, self._store.asked()
        for entry in asked:
            if entry.attempt > progress.position.attempt:
                progress.repeat(progress.repeated(entry.roster))
            self._bytes_down += entry.size * len(entry.roster)
            self._asked = entry.round, entry.attempt
            if entry.release is not None:
                progress.take(entry.release)
        if self._store.ended:
            progress.end()
        if progress.running and (not asked or asked[-1].release is not None):
            self._ask(progress.position)
