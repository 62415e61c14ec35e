"""Small runs over silos, and the central run with the same noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet import Budget, Catalogue, Model, Ratings
from discreet.data.synthetic import market
from discreet.methods.budgeted.public.constants import BudgetedSettings
from discreet.methods.method import PrivateMethod
from discreet.methods.registry import find_method
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.shares import ShareNoise
from discreet.privacy.gaussian.totals import Total
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.shared import masks as secure_sum
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.messages import QuestionMessage
from discreet.silos.shared.signing import SigningKey, signing_public_key
from discreet.silos.silo.silo import Silo
from discreet.types import Floats

BUDGET = Budget(6.0, 1e-5)
SERVER_KEY = b"noise of the server, for tests"


def private_key(name: str) -> bytes:
    return name.encode().ljust(32, b"-")


def signing_key(name: str) -> bytes:
    return name.encode().ljust(32, b"+")


def signing_keys(count: int) -> dict[str, Any]:
    """Of so many silos and the server, for an agreement."""
    public = {name: signing_public_key(signing_key(name)) for name in names(count)}
    return {"signing_keys": public, "server_key": signing_public_key(signing_key("server"))}


def noise_key(name: str) -> bytes:
    return f"noise of {name}, for tests".encode()


def names(count: int) -> list[str]:
    return [f"silo-{number:02}" for number in range(count)]


def world(kind: str = "ratings", users: int = 600, items: int = 30, seed: int = 0) -> Ratings:
    ratings = market(users, items, users * 6, rng=seed)
    if kind == "ratings":
        return ratings
    return Ratings.from_arrays(
        ratings.indptr,
        ratings.items,
        np.ones_like(ratings.values),
        catalogue=ratings.catalogue,
        rating_range=None,
    )


def agree(ratings: Ratings, count: int, **changes: Any) -> Agreement:
    assert ratings.catalogue is not None
    options: dict[str, Any] = {
        "silos": {name: secure_sum.public_key(private_key(name)) for name in names(count)},
        "budget": BUDGET,
        "catalogue": ratings.catalogue,
        "rating_range": ratings.rating_range,
        "settings": BudgetedSettings(rank=3, rounds=3),
        "seed": 0,
    }
    return Agreement.make("a test", **(options | changes))


def parts(ratings: Ratings, count: int) -> list[Ratings]:
    """Users dealt out unevenly."""
    owner = np.random.default_rng(1).permutation(ratings.n_users) % (count * (count + 1) // 2)
    edges = np.cumsum(np.arange(1, count + 1))
    return [ratings.take_users(np.searchsorted(edges, owner, side="right") == k) for k in range(count)]


class FixedCoordinator(Coordinator):
    """One whose noise anybody can draw again."""

    def _server_noise(self) -> Noise:
        round_, attempt = self._position.place
        return Noise.fixed_key_not_private(SERVER_KEY + f"|{round_}|{attempt}".encode())


class FixedSilo(Silo):
    """One whose share of the noise anybody can draw again; ``store``: other stores draw other noise."""

    store: str | None = None

    def _shares(self, message: QuestionMessage, question: str, sums: Sequence[Total]) -> ShareNoise:
        suffix = f"|{message.round}|{message.attempt}".encode()
        honest = super()._shares(message, question, sums)._honest
        return ShareNoise(honest, key=noise_key(self.store or self.name) + suffix)


class Run:
    """A coordinator and its silos in one process, with stores in a folder."""

    def __init__(
        self,
        folder: Path,
        ratings: Ratings,
        agreement: Agreement,
        *,
        fixed: bool = True,
        split: Any = None,
        keys: Mapping[str, SigningKey] | None = None,
    ) -> None:
        self.folder, self.agreement, self.fixed, self.keys = folder, agreement, fixed, keys
        if keys is None and agreement.signing_keys is not None:
            self.keys = {name: SigningKey(agreement, name, signing_key(name)) for name in agreement.roster}
        self.catalogue = ratings.catalogue
        shares = parts(ratings, len(agreement.silos)) if split is None else split
        self.parts: dict[str, Ratings] = dict(zip(agreement.roster, shares, strict=True))
        self.coordinator = self.open_coordinator()
        self.silos = {name: self.open_silo(name) for name in agreement.roster}
        self.sent: dict[str, list[bytes]] = {name: [] for name in agreement.roster}

    def open_coordinator(self) -> Coordinator:
        return (FixedCoordinator if self.fixed else Coordinator)(
            self.folder / "server.db",
            self.agreement,
            features=None if self.catalogue is None else self.catalogue.features,
        )

    def open_silo(self, name: str) -> Silo:
        return (FixedSilo if self.fixed else Silo)(
            self.folder / f"{name}.db",
            self.agreement,
            name,
            private_key(name),
            self.parts[name],
            signing=None if self.keys is None else self.keys[name],
        )

    def call_roll(self, leave_out: Sequence[str] = ()) -> None:
        """Let the silos sign that they will be in the next sum, where the agreement has signing keys."""
        while self.coordinator.status()["stage"] == "roll call":
            question, waiting = self.coordinator.question(), self.coordinator.status()["waiting_for"]
            if question is None or not set(waiting) - set(leave_out):
                return
            for name in waiting:
                if name not in leave_out:
                    self.coordinator.receive(name, self.silos[name].answer(question))

    def step(self, leave_out: Sequence[str] = ()) -> bool:
        """One round; ``False`` when there is none left."""
        self.call_roll(leave_out)
        question = self.coordinator.question()
        if question is None:
            return False
        for name in self.coordinator.status()["waiting_for"]:
            if name not in leave_out:
                self.sent[name].append(self.silos[name].answer(question))
                self.coordinator.receive(name, self.sent[name][-1])
        return True

    def finish(self) -> Model:
        while self.step():
            pass
        assert isinstance(self.catalogue, Catalogue)
        return self.coordinator.model(self.catalogue)

    def close(self) -> None:
        self.coordinator.close()
        for silo in self.silos.values():
            silo.close()


class TogetherNoise(Noise):
    """The noise of all silos (or of the server) in the place of a central run's: one stream a round."""

    def __init__(self, agreement: Agreement) -> None:
        super().__init__(key=b"of others")
        self._agreement, self._round = agreement, 0
        self.excess = agreement.noise_excess(len(agreement.roster))
        self._begin()

    def _begin(self) -> None:
        suffix = f"|{self._round}|0".encode()
        if self._agreement.noise == "server":
            self._sources: list[Noise] = [Noise(key=SERVER_KEY + suffix)]
        else:
            honest = self._agreement.honest
            self._sources = [
                ShareNoise(honest, key=noise_key(name) + suffix) for name in self._agreement.roster
            ]

    def next_round(self) -> None:
        self._round += 1
        self._begin()

    def integers(self, sigma: Floats) -> Floats:
        return np.sum([source.integers(sigma) for source in self._sources], axis=0)

    def symmetric_integers(self, sigma: Floats, order: int) -> Floats:
        return np.sum([source.symmetric_integers(sigma, order) for source in self._sources], axis=0)


def central(ratings: Ratings, agreement: Agreement) -> Model:
    """Central training with the noise that the silos have added."""
    method = find_method(agreement.method)
    assert issubclass(method, PrivateMethod)
    noise = TogetherNoise(agreement)

    def one_question_more(stage: str, done: int, total: int) -> None:
        if 0 < done < total:
            noise.next_round()

    fitted = method(**agreement.settings.model_dump()).fit(
        ratings, agreement.budget, rng=agreement.seed, noise=noise, progress=one_question_more
    )
    return fitted.model_


def dump(party: Coordinator | Silo, *, refusals: bool = False) -> list[tuple[Any, ...]]:
    """Everything in a party's store; the list of refusals only if asked for."""
    columns = "kind, round, attempt, silo, facts, size, body"
    kept = party._store.rows(f"SELECT {columns} FROM entries ORDER BY number")
    return [row for row in kept if refusals or row[0] != "refusal"]


def asked(run: Run) -> QuestionMessage:
    """The current question, to be tampered with."""
    body = run.coordinator.question()
    assert body is not None
    return QuestionMessage.decode(body, run.agreement)
