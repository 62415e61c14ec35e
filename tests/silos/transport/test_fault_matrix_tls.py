"""Faults of one silo over TLS, with all methods: the server is a process, and the silo's line does what it should not.

"losses" is budgeted ALS where a silo may be lost, with the lists of a round and what is revealed by them. Kills, silos
that are late or lost, and impostors have tests of their own with processes.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from discreet import Model, Ratings
from discreet.errors import Refused
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.agreements import largest_message
from discreet.silos.shared.seal import SigningKey, open_seal
from discreet.silos.shared.second_store import SecondStore, cost_of
from discreet.silos.silo.prototype_silo import PrototypeSilo
from discreet.silos.silo.silo import Silo
from discreet.silos.transport.client import Client
from discreet.silos.transport.endorsement import Endorsement
from discreet.silos.transport.identity import client_context
from discreet.silos.transport.participate import participate
from discreet.silos.transport.signed_silo import SignedSilo
from tests.silos.transport.conftest import LONG, SILOS, Hall, Halls, key_in
from tests.silos.transport.tables import refused
from tests.silos.transport.test_prototypes import check_model, hall_of
from tests.silos.worlds import central, noise_key, parts, private_key

BAD = SILOS[1]
Send = Callable[[bytes], dict[str, Any]]


class Line(Client):
    """A silo's line to the server, on which something else happens to answers as well."""

    tamper: Callable[[Send, bytes], dict[str, Any]] = staticmethod(lambda send, message: send(message))

    def answer(self, body: bytes) -> dict[str, Any]:
        return self.tamper(super().answer, body)


class Party:
    """A silo in this process."""

    def __init__(self, hall: Hall, ratings: Ratings, name: str, store: str | None = None) -> None:
        folder, agreement, where = hall.tls / "silos" / name, hall.agreement, store or name
        part = dict(zip(SILOS, parts(ratings, len(SILOS)), strict=True))[name]
        options: dict[str, Any] = {"fixed_noise_key_not_private": noise_key(where)}
        path = hall.folder / f"{where}.db"
        self.silo: Silo | PrototypeSilo
        if isinstance(agreement, Agreement):
            self.silo = Silo(path, agreement, name, private_key(name), part, **options)
        else:
            self.silo = PrototypeSilo(path, agreement, name, part, **options)
        self.key: SigningKey = key_in(folder, agreement, name)
        self.signed = SignedSilo(self.silo, self.key)
        self.line = Line(
            f"https://localhost:{hall.port}",
            agreement.run_id,
            largest_message(agreement),
            client_context(folder),
            Endorsement(self.key, folder / "certificate.pem"),
            patience=LONG,
        )

    def take_part(self) -> None:
        participate(self.signed, self.line, lambda message: self.signed.model(message))


def known(said: dict[str, Any]) -> bool:
    """Whether the server had a message already; or it was a reply to a list that nobody needed any more."""
    return bool(said["repeated"]) or not said["accepted"]


def duplicated(send: Send, message: bytes) -> dict[str, Any]:
    send(message)
    assert known(send(message))
    return {}


def garbled(send: Send, message: bytes) -> dict[str, Any]:
    for place in (3, len(message) // 2, len(message) - 1):
        spoilt = bytearray(message)
        spoilt[place] ^= 0x55
        refused(lambda spoilt=spoilt: send(bytes(spoilt)))  # type: ignore[misc]
    return send(message)


class Replayed:
    """Everything that was sent before, once more before each new answer."""

    def __init__(self) -> None:
        self._old: list[bytes] = []

    def __call__(self, send: Send, message: bytes) -> dict[str, Any]:
        for old in self._old:
            assert known(send(old))
        self._old.append(message)
        return send(message)


HARMLESS: dict[str, Callable[[], Any]] = {
    "duplicated": lambda: duplicated,
    "garbled": lambda: garbled,
    "replayed": Replayed,
}


def begin(halls: Halls, method: str) -> Hall:
    terms = {"honest": 3, "dropouts": 1} if method == "losses" else {}
    hall = hall_of(halls) if method == "prototypes" else halls(**terms)
    hall.start("server")
    return hall


@pytest.mark.parametrize("method", ["budgeted", "losses", "prototypes"])
@pytest.mark.parametrize("fault", HARMLESS)
def test_what_can_be_made_good_leaves_no_trace(
    halls: Halls, undisturbed: Hall, method: str, fault: str
) -> None:
    hall = begin(halls, method)
    with ExitStack() as stack, ThreadPoolExecutor(len(SILOS)) as pool:
        silos = {name: Party(hall, halls.ratings, name) for name in SILOS}
        for party in silos.values():
            stack.enter_context(party.silo)
        silos[BAD].line.tamper = HARMLESS[fault]()
        for running in [pool.submit(party.take_part) for party in silos.values()]:
            running.result(LONG)
    assert hall.wait("server") == 0, hall.log("server")
    if method == "budgeted":
        assert hall.model() == undisturbed.model()
    elif method == "losses":
        assert isinstance(hall.agreement, Agreement)
        wanted, found = central(halls.ratings, hall.agreement), Model.load(hall.folder / "model")
        assert found.item_side.factors.tobytes() == wanted.item_side.factors.tobytes()
        assert found.item_side.offsets.tobytes() == wanted.item_side.offsets.tobytes()
    else:
        check_model(hall, halls, *SILOS)


@pytest.mark.parametrize("method", ["budgeted", "prototypes"])
def test_a_second_store_that_answers_all_the_same_ends_the_run_for_everybody(
    halls: Halls, method: str
) -> None:
    """It does not greet, as a copy under another program's hands would not; its answer is the silo's, and too much."""
    hall = begin(halls, method)
    with ExitStack() as stack, ThreadPoolExecutor(len(SILOS)) as pool:
        silos = {name: Party(hall, halls.ratings, name) for name in SILOS}
        second = Party(hall, halls.ratings, BAD, "second")
        for party in (*silos.values(), second):
            stack.enter_context(party.silo)
        asked: list[bytes] = []

        def both(send: Send, message: bytes) -> dict[str, Any]:
            send(message)
            return send(second.signed.answer(asked[0]))

        silos[BAD].line.tamper = both
        # One silo stays away until the second answer has come, so that the run is not over before.
        silos[BAD].line.greet(silos[BAD].signed.hello())
        offer = silos[BAD].line.question("")
        assert offer is not None
        asked.append(offer.body)
        assert open_seal(hall.agreement, offer.body, "question").sender == ""
        with pytest.raises(SecondStore, match=f"two stores of {BAD}"):
            silos[BAD].take_part()
        others = [pool.submit(silos[name].take_part) for name in SILOS if name != BAD]
        for running in others:
            with pytest.raises(Refused, match=f"the run has failed: two stores of {BAD}"):
                running.result(LONG)
        for name in SILOS:
            owed = silos[name].silo.status()["epsilon_spent"]
            assert (owed >= cost_of(hall.agreement).same) == (name == BAD)
    assert hall.wait("server") == 2
    assert f"two stores of {BAD}" in hall.log("server")
