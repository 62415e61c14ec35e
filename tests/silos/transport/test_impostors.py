"""Who is who: names in certificates and in messages are worth nothing without the signing keys of the agreement."""

from __future__ import annotations

import json
import shutil
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from discreet.cli import main
from discreet.errors import Refused, SettingsInvalid
from discreet.methods.prototypes import FactorSettings, PrototypeSettings
from discreet.silos.server.prototype_coordinator import PrototypeCoordinator
from discreet.silos.shared.agreements import parse_agreement
from discreet.silos.shared.prototype_agreement import PrototypeAgreement
from discreet.silos.shared.seal import SERVER, SigningKey
from discreet.silos.silo.prototype_silo import PrototypeSilo
from discreet.silos.silo.silo import Silo
from discreet.silos.transport.authority import make_authority
from discreet.silos.transport.client import Client
from discreet.silos.transport.endorsement import ENDORSEMENT, Endorsement
from discreet.silos.transport.files import take_answer
from discreet.silos.transport.identity import client_context, read_signing_key
from discreet.silos.transport.participate import participate
from discreet.silos.transport.signed_run import SignedRun
from discreet.silos.transport.signed_silo import SignedSilo
from tests.silos.transport.conftest import SILOS, Hall, Halls, key_in, signing
from tests.silos.transport.test_client import hostile
from tests.silos.transport.test_listener import line_to
from tests.silos.worlds import Run, parts, private_key

ONE, OTHER = SILOS[:2]


@pytest.fixture(scope="module")
def open_hall(halls: Halls) -> Iterator[Hall]:
    """A server that waits for silos."""
    hall = halls()
    hall.start("server")
    hall.wait_until_it_listens()
    yield hall
    hall.end()


@pytest.fixture
def bundle(tls: Path, tmp_path: Path) -> Path:
    """Two organisations' authorities in one file; the second one's certificates have the first one's names."""
    made = tmp_path / "second"
    make_authority(made, SILOS)
    both = (tls / "authority.pem").read_bytes() + (made / "authority.pem").read_bytes()
    for place in (made / "server", *(made / "silos" / name for name in SILOS)):
        (place / "authority.pem").write_bytes(both)
    return made


def private_silo(hall: Hall, halls: Halls, store: Path, name: str = ONE) -> Silo:
    part = dict(zip(SILOS, parts(halls.ratings, len(SILOS)), strict=True))[name]
    assert hall.agreement.method != "prototypes"
    return Silo(store, hall.agreement, name, private_key(name), part)  # type: ignore[arg-type]


def test_a_certificate_of_another_authority_in_ones_own_name_is_not_enough(
    halls: Halls, bundle: Path
) -> None:
    """The server trusts both authorities; the impostor has everything but the silo's signing key."""
    hall = halls()
    tls = bundle.parent / "tls"
    shutil.copytree(hall.tls, tls)
    (tls / "server" / "authority.pem").write_bytes((bundle / "server" / "authority.pem").read_bytes())
    hall.tls = tls
    hall.start("server")
    hall.wait_until_it_listens()
    impostor = bundle / "silos" / ONE
    for call in (
        lambda line: line.question(""),
        lambda line: line.answer(b"x"),
        lambda line: line.greet(b"x"),
    ):
        with pytest.raises(Refused, match=f"in the name of {ONE} is not endorsed by {ONE}'s signing key"):
            call(line_to(hall, impostor))
    hall.end()


def test_nor_for_the_server_and_no_answer_is_sent_to_it(
    halls: Halls, bundle: Path, undisturbed: Hall, tmp_path: Path
) -> None:
    """A certificate for the right host from an authority that the silo trusts, and friendly words to everything."""
    folder, requests = tmp_path / "silo", []
    shutil.copytree(halls.tls / "silos" / ONE, folder)
    (folder / "authority.pem").write_bytes((bundle / "silos" / ONE / "authority.pem").read_bytes())
    endorsed_by_itself = SigningKey.__new__(SigningKey)
    endorsed_by_itself.agreement, endorsed_by_itself.name = undisturbed.agreement, SERVER
    endorsed_by_itself._private = read_signing_key(bundle / "server" / "signing.key")
    shown = Endorsement(endorsed_by_itself, bundle / "server" / "certificate.pem").own

    def speak(connection: ssl.SSLSocket) -> None:
        requests.append(connection)
        words = b"{}"
        status = [b"200 OK", b"409 Conflict"][len(requests) % 2]
        head = b"HTTP/1.1 %b\r\nContent-Length: %d\r\n" % (status, len(words))
        connection.sendall(head + f"{ENDORSEMENT}: {shown}\r\n\r\n".encode() + words)

    key = key_in(folder, undisturbed.agreement, ONE)
    with hostile(bundle, speak) as port, private_silo(undisturbed, halls, tmp_path / "silo.db") as silo:
        url, vouches = f"https://localhost:{port}", Endorsement(key, folder / "certificate.pem")
        client = Client(url, "0" * 32, 10**6, client_context(folder), vouches, patience=0.0)
        with pytest.raises(Refused, match="409"):
            client.answer(b"an answer")
        with pytest.raises(Refused, match="the certificate in the name of the server is not endorsed"):
            participate(SignedSilo(silo, key), client, lambda body: None)
        assert silo.status()["charged_mu"] == 0.0
    assert len(requests) == 2, "two greetings, and no answer"


def test_the_wrong_folder_is_noticed_before_the_first_charge(
    open_hall: Hall, halls: Halls, tmp_path: Path
) -> None:
    """A silo with its own keys and another silo's certificate."""
    folder = tmp_path / "mixed"
    shutil.copytree(open_hall.tls / "silos" / OTHER, folder)
    key = key_in(open_hall.tls / "silos" / ONE, open_hall.agreement, ONE)
    with private_silo(open_hall, halls, tmp_path / "silo.db") as silo:
        client = line_to(open_hall, folder)
        client._vouches = Endorsement(key, folder / "certificate.pem")
        with pytest.raises(Refused, match="not endorsed"):
            participate(SignedSilo(silo, key), client, lambda body: None)
        client._vouches = Endorsement(key_in(folder, open_hall.agreement, OTHER), folder / "certificate.pem")
        with pytest.raises(Refused, match=f"{OTHER} sent a message in the name of {ONE}"):
            participate(SignedSilo(silo, key), client, lambda body: None)
        assert silo.status()["charged_mu"] == 0.0


class Desk:
    """A run carried by hand: signed messages, and what can be done to them."""

    def __init__(self, halls: Halls, folder: Path) -> None:
        self.agreement = halls().agreement
        self.keys = {name: key_in(halls.tls / "silos" / name, self.agreement, name) for name in SILOS}
        self.run = Run(folder, halls.ratings, self.agreement, fixed=False, keys=self.keys)  # type: ignore[arg-type]
        self.run.call_roll()
        self.server = SignedRun(
            self.run.coordinator, self.agreement, key_in(halls.tls / "server", self.agreement, SERVER)
        )

    def question(self) -> bytes:
        question = self.server.question()
        assert question is not None
        return question

    def answer(self, name: str) -> bytes:
        return SignedSilo(self.run.silos[name], self.keys[name]).answer(self.question())


@pytest.fixture
def desk(halls: Halls, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(halls, tmp_path)
    yield made
    made.run.close()


def test_files_by_hand_are_whose_they_say(desk: Desk, halls: Halls, tmp_path: Path) -> None:
    answer, body = desk.answer(ONE), desk.run.silos[ONE].answer(desk.run.coordinator.question() or b"")
    other_run = Desk(halls, tmp_path / "other")
    altered = bytearray(answer)
    altered[-1] ^= 1
    for forged, words in [
        (body, "not a message that anybody has signed"),
        (bytes(altered), f"{ONE} has not signed this"),
        (desk.keys[OTHER].seal("answer", body), "in the name of"),
        (answer.replace(ONE.encode(), OTHER.encode(), 1), "has not signed this"),
        (other_run.answer(ONE), "belongs to another run"),
        (desk.keys[ONE].seal("hello", body), "a signed hello where the answer"),
        (desk.question(), "a signed question where the answer"),
    ]:
        before = desk.run.coordinator.status()
        with pytest.raises(Refused, match=words):
            take_answer(desk.server, forged, "a file")
        assert desk.run.coordinator.status() == before
    assert not take_answer(desk.server, answer, "a file")["repeated"]
    assert take_answer(desk.server, answer, "a file")["repeated"], "carried twice it is the same answer"
    other_run.run.close()


def test_a_silo_pays_for_no_question_that_the_server_has_not_signed(
    desk: Desk, halls: Halls, tmp_path: Path
) -> None:
    inner = desk.run.coordinator.question()
    assert inner is not None
    silo, other_run = SignedSilo(desk.run.silos[ONE], desk.keys[ONE]), Desk(halls, tmp_path / "other")
    for forged, words in [
        (inner, "not a message that anybody has signed"),
        (desk.keys[OTHER].seal("question", inner), "for the server alone"),
        (other_run.question(), "belongs to another run"),
        (desk.question()[:-1], "the server has not signed this"),
    ]:
        with pytest.raises(Refused, match=words):
            silo.answer(forged)
    with pytest.raises(Refused, match="a signed question where the model"):
        silo.model(desk.question())
    assert desk.run.silos[ONE].status()["charged_mu"] == 0.0
    other_run.run.close()


def test_an_old_answer_is_known_and_changes_nothing(desk: Desk) -> None:
    old = [desk.answer(name) for name in SILOS]
    for answer in old:
        take_answer(desk.server, answer, "a file")
    before = desk.run.coordinator.status()
    for answer in old:
        assert take_answer(desk.server, answer, "a file")["repeated"]
    assert desk.run.coordinator.status() == before


def test_prototypes_are_signed_too(halls: Halls, tmp_path: Path) -> None:
    assert halls.ratings.catalogue is not None
    options: dict[str, Any] = {
        "settings": PrototypeSettings(prototypes=4, users=100, dimension=4, support=10),
        "factors": FactorSettings(rank=3, rounds=5),
        **signing(halls.tls),
    }
    one, another = (
        PrototypeAgreement.make(
            "a test",
            silos=SILOS,
            epsilon=20.0,
            catalogue=halls.ratings.catalogue,
            rating_range=halls.ratings.rating_range,
            **options,
        )
        for _ in range(2)
    )
    part = parts(halls.ratings, len(SILOS))[0]
    with (
        PrototypeCoordinator(tmp_path / "server.db", one) as coordinator,
        PrototypeSilo(tmp_path / "a.db", one, ONE, part) as silo,
    ):
        run = SignedRun(coordinator, one, None)
        own, others = (key_in(halls.tls / "silos" / name, one, name) for name in (ONE, OTHER))
        right = SignedSilo(silo, own).answer(b"")
        stranger = SigningKey(another, ONE, own._private)
        for forged, words in [
            (silo.answer(), "not a message that anybody has signed"),
            (others.seal("answer", silo.answer()), "in the name of"),
            (stranger.seal("answer", silo.answer()), "belongs to another run"),
        ]:
            with pytest.raises(Refused, match=words):
                take_answer(run, forged, "a file")
        assert not take_answer(run, right, "a file")["repeated"]
        assert take_answer(run, right, "a file")["repeated"]


def test_an_older_agreement_is_refused_in_words_and_stays_readable(undisturbed: Hall, tmp_path: Path) -> None:
    older = {
        key: value
        for key, value in undisturbed.agreement.model_dump(mode="json").items()
        if "_key" not in key
    }
    agreement = parse_agreement(json.dumps(older).encode())
    agreement.save(tmp_path / "old.json")
    text = (tmp_path / "old.json").read_text()
    assert "signing" not in text
    assert "server_key" not in text
    assert type(undisturbed.agreement).load(tmp_path / "old.json").digest == agreement.digest
    with pytest.raises(SettingsInvalid, match="no signing keys"):
        SigningKey(agreement, ONE, bytes(32))
    pl.DataFrame({"item": np.arange(2)}).write_csv(tmp_path / "items.csv")
    (tmp_path / "signing.key").write_text("0" * 64)
    options = [
        "--agreement",
        "old.json",
        "--store",
        "run.sqlite",
        "--signing-key",
        "signing.key",
        "--out",
        "q.bin",
    ]
    options = [str(tmp_path / word) if "." in word else word for word in options]
    result = CliRunner().invoke(main, ["federate", "export", *options])
    assert result.exit_code == 2
    assert "no signing keys" in " ".join(result.stderr.split())
