"""A run carried by hand in one process, of either method, for things to go wrong with: real stores, signed bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet import Model
from discreet.errors import Refused
from discreet.privacy.accounting import compose
from discreet.privacy.pure.noise import PureNoise
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.server.prototypes import PrototypeCoordinator
from discreet.silos.shared.agreement import Agreement, AnyAgreement
from discreet.silos.shared.messages import CALL, QuestionMessage
from discreet.silos.shared.signing import SERVER, open_seal
from discreet.silos.silo.prototypes import PrototypeSilo
from discreet.silos.silo.silo import Silo
from tests.silos.transport.conftest import SILOS, Halls, key_in
from tests.silos.worlds import FixedSilo, noise_key, parts, private_key

AnyRun = Coordinator | PrototypeCoordinator
AnySilo = Silo | PrototypeSilo


class Table:
    """Parties at a table, who hand each other signed messages."""

    def __init__(self, halls: Halls, folder: Path, agreement: AnyAgreement) -> None:
        self.halls, self.folder, self.agreement = halls, folder, agreement
        folder.mkdir(exist_ok=True)
        self._parts = dict(zip(SILOS, parts(halls.ratings, len(SILOS)), strict=True))
        self._open: dict[str, Any] = {}
        self.keys = {name: key_in(halls.tls / "silos" / name, agreement, name) for name in SILOS}
        self.server_key = key_in(halls.tls / "server", agreement, SERVER)
        self.paid: dict[str, dict[bytes, float]] = {name: {} for name in SILOS}

    @property
    def coordinator(self) -> AnyRun:
        """The server's side, from its store if it is not there."""
        if SERVER not in self._open:
            store = self.folder / "server.db"
            run: AnyRun
            if isinstance(self.agreement, Agreement):
                run = Coordinator(store, self.agreement)
            else:
                run = PrototypeCoordinator(store, self.agreement)
            self._open[SERVER] = run
        found: AnyRun = self._open[SERVER]
        return found

    def silo(self, name: str, store: str | None = None) -> AnySilo:
        """A silo, from its store if it is not there; or from another store than its own."""
        where = store or name
        if where not in self._open:
            # Another store draws other noise, as it would without the fixed keys of tests.
            path, part = self.folder / f"{where}.db", self._parts[name]
            made: AnySilo
            if isinstance(self.agreement, Agreement):
                signing = self.keys[name]
                made = FixedSilo(path, self.agreement, name, private_key(name), part, signing=signing)
                made.store = where
            else:
                made = PrototypeSilo(path, self.agreement, name, part)
                made._noise = PureNoise.fixed_key_not_private(noise_key(where))
            self._open[where] = made
        found: AnySilo = self._open[where]
        return found

    def kill(self, who: str) -> None:
        """What was not in its store is gone."""
        if who in self._open:
            self._open.pop(who).close()

    def question(self) -> bytes | None:
        asked = self.coordinator.question()
        return None if asked is None else self.server_key.seal("question", asked)

    def ask(self, name: str, question: bytes, store: str | None = None) -> bytes:
        """A silo's signed answer to whatever question it is sent."""
        body = open_seal(self.agreement, question, "question", SERVER).body
        return self.keys[name].seal("answer", self.silo(name, store).answer(body))

    def answer(self, name: str, store: str | None = None) -> bytes:
        """A silo's signed answer to the current question; what it costs is noted here, whatever its ledger says."""
        question = self.question()
        assert question is not None
        message = self.ask(name, question, store)
        body = open_seal(self.agreement, question, "question").body
        if body[:4] == CALL:  # nothing is asked of ratings, so nothing is owed
            return message
        cost = QuestionMessage.decode(body, self.agreement).question.mu if body else self.agreement.epsilon  # type: ignore[arg-type]
        self.paid[name][message] = cost
        return message

    def take(self, message: bytes) -> dict[str, Any]:
        opened = open_seal(self.agreement, message, "answer")
        return self.coordinator.receive(opened.sender, opened.body)

    def finish(self, tamper: Callable[[int, str], bool] = lambda round_, name: False) -> Model:
        """Go on to the end; ``tamper`` does what it likes in the place of an answer and says whether it was one."""
        while self.question() is not None:
            status = self.coordinator.status()
            if status.get("stage") == "roll call":
                for name in status["waiting_for"]:
                    self.take(self.answer(name))
                continue
            for name in status["waiting_for"]:
                if not tamper(status["round"], name) and name in self.coordinator.status()["waiting_for"]:
                    self.take(self.answer(name))
                if self.coordinator.status()["roster"] != status["roster"]:
                    break
        assert self.halls.ratings.catalogue is not None
        return self.coordinator.model(self.halls.ratings.catalogue)

    def check_ledgers(self) -> None:
        """No ledger says less than was paid for all that left the silo; the server's none less than any silo's."""
        charged = self.coordinator.status()
        for name in SILOS:
            status, costs = self.silo(name).status(), list(self.paid[name].values())
            if "charged_mu" not in status:
                assert status["epsilon_spent"] >= sum(costs)
                assert charged["epsilon_spent"] >= min(sum(costs), self.agreement.epsilon)
                continue
            assert status["charged_mu"] >= compose(costs) * (1.0 - 1e-12)
            assert charged["charged_mu"] >= status["charged_mu"] * (1.0 - 1e-12)

    def close(self) -> None:
        for who in list(self._open):
            self.kill(who)


def refused(call: Callable[[], object]) -> str:
    """The words of a refusal, which must come."""
    with pytest.raises(Refused, match=r".{20}") as caught:
        call()
    return str(caught.value)
