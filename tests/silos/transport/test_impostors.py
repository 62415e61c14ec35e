"""Who is who: names in messages are worth nothing without the signing keys of the agreement."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from discreet.cli import main
from discreet.errors import Refused, SettingsInvalid
from discreet.methods.prototypes.settings import FactorSettings, PrototypeSettings
from discreet.silos.server.prototype_coordinator import PrototypeCoordinator
from discreet.silos.shared.agreements import parse_agreement
from discreet.silos.shared.prototype_agreement import PrototypeAgreement
from discreet.silos.shared.seal import SERVER, SigningKey
from discreet.silos.silo.prototype_silo import PrototypeSilo
from discreet.silos.transport.files import take_answer
from discreet.silos.transport.signed_run import SignedRun
from discreet.silos.transport.signed_silo import SignedSilo
from tests.silos.transport.conftest import SILOS, Hall, Halls, key_in, signing
from tests.silos.worlds import Run, parts

ONE, OTHER = SILOS[:2]


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
