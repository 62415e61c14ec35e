"""The two halves of a run of prototypes: durable, deaf to everything else, and one charge a silo."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discreet.catalogue import Catalogue
from discreet.errors import BudgetInvalid, RatingsInvalid, Refused, SettingsInvalid
from discreet.methods.prototypes import GlobalFactors, PrototypeMessage, PrototypeSettings
from discreet.methods.prototypes.private.pipeline import PrivatePrototypes
from discreet.methods.prototypes.public.factorise import factorise
from discreet.privacy.pure.noise import PureNoise
from discreet.silos.server.prototype_coordinator import PrototypeCoordinator
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.methods import load_agreement
from discreet.silos.shared.prototype_agreement import PrototypeAgreement
from discreet.silos.shared.prototype_messages import open_factors, open_letter
from tests.methods.prototypes.runs import SETTINGS, Run, agree, dump, part
from tests.silos.worlds import agree as agree_on_als
from tests.silos.worlds import noise_key, world

SILOS = ("silo-00", "silo-01", "silo-02")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    made = Run(tmp_path, agree())
    yield made
    made.close()


def expected(agreement: PrototypeAgreement, *silos: str) -> bytes:
    """The factors made in one process, without letters or stores."""
    method = PrivatePrototypes(agreement.settings)
    sent = [
        method.message(part(name), agreement.epsilon, noise=PureNoise(key=noise_key(name))) for name in silos
    ]
    come = [PrototypeMessage.from_bytes(message.to_bytes()) for message in sent]
    return replace(factorise(come, agreement.factors, agreement.seed), run=agreement.run_id).to_bytes()


def test_the_factors_are_those_of_one_process(run: Run) -> None:
    assert run.coordinator.question() == b""
    run.send("silo-02", "silo-00")
    assert run.coordinator.status()["waiting_for"] == ["silo-01"]
    with pytest.raises(Refused, match="not over"):
        run.coordinator.factors()
    run.send("silo-01")
    assert run.coordinator.question() is None
    factors = run.coordinator.factors()
    assert factors == expected(run.agreement, *SILOS)
    status = run.coordinator.status()
    assert (status["messages_up"], status["messages_down"]) == (3, 3)
    assert status["bytes_down"] == 3 * len(factors)
    assert status["bytes_up"] == sum(len(party.answer()) for party in run.silos.values())


def test_what_was_made_is_never_made_again(tmp_path: Path) -> None:
    run = Run(tmp_path, agree(), fixed=False)
    letters = {name: run.silos[name].answer() for name in SILOS}
    run.send(*SILOS)
    factors = run.coordinator.factors()
    before = [dump(party) for party in (run.coordinator, *run.silos.values())]
    run.close()
    run = Run(tmp_path, run.agreement, fixed=False)
    assert {name: run.silos[name].answer() for name in SILOS} == letters
    assert all(run.coordinator.receive(name, letters[name])["repeated"] for name in SILOS)
    assert run.coordinator.factors() == factors
    assert [dump(party) for party in (run.coordinator, *run.silos.values())] == before
    statement = run.silos["silo-00"].statement()
    assert statement is not None
    assert statement.private
    assert math.fsum(release.epsilon for release in statement.releases) <= run.agreement.epsilon
    assert open_letter(letters["silo-00"], run.agreement)[1].statement == statement
    run.close()


def test_nothing_has_left_before_it_is_kept(tmp_path: Path) -> None:
    run = Run(tmp_path, agree(), fixed=False)
    silo = run.silos["silo-00"]
    silo._store.write("PRAGMA query_only = ON")  # a disk that takes nothing
    with pytest.raises(SettingsInvalid, match="cannot be written"):
        silo.answer()
    silo._store.write("PRAGMA query_only = OFF")
    assert silo.statement() is None
    assert silo.status()["epsilon_spent"] == 0.0
    assert silo.answer() == silo.answer()
    run.close()


def test_a_silo_answers_no_question(run: Run) -> None:
    with pytest.raises(Refused, match="nothing to ask"):
        run.silos["silo-00"].answer(b"less noise, please")
    assert run.silos["silo-00"].statement() is None


def test_a_silo_that_is_too_small_says_so_once_and_for_one_charge(tmp_path: Path) -> None:
    for number, settings in enumerate(
        (SETTINGS, PrototypeSettings(clustering="lloyd", users=200, delta=1e-4))
    ):
        run = Run(tmp_path / str(number), agree(settings=settings, epsilon=0.5), fixed=False)
        small = run.reopen("silo-00", 1)
        with pytest.raises(RatingsInvalid, match="too few users") as first:
            small.answer()
        assert small.status()["epsilon_spent"] == 0.5
        statement = small.statement()
        assert statement is not None
        assert [release.name for release in statement.releases] == ["silo count"]
        again = run.reopen("silo-00")  # by now it has users enough, but its one chance is used up
        with pytest.raises(RatingsInvalid) as second:
            again.answer()
        assert str(second.value) == str(first.value), "another noisy count would have cost again"
        run.close()


def test_silos_that_stay_away_cost_nobody_anything(run: Run) -> None:
    with pytest.raises(Refused, match="nobody would be left"):
        run.coordinator.drop(*SILOS)
    with pytest.raises(Refused, match="name the silos"):
        run.coordinator.drop()
    run.send("silo-01")
    for wrong in (("silo-01",), ("silo-00", "silo-01"), ("stranger",)):
        with pytest.raises(Refused, match="not awaited"):
            run.coordinator.drop(*wrong)
    assert run.coordinator.status()["roster"] == list(SILOS)
    run.coordinator.drop("silo-00", "silo-02")
    assert run.coordinator.factors() == expected(run.agreement, "silo-01")
    with pytest.raises(Refused, match="out of this run"):
        run.send("silo-00")
    run.coordinator.close()
    run.coordinator = PrototypeCoordinator(run.folder / "server.db", run.agreement)
    assert run.coordinator.status()["roster"] == ["silo-01"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"silos": ["b", "a", "B"]}, "capitals"),
        ({"silos": ["a", "a"]}, "capitals"),
        ({"silos": []}, "silos"),
        ({"rating_range": (-1.0, 1.0)}, "non-negative"),
        ({"catalogue": Catalogue(["only one"])}, "n_items"),
    ],
)
def test_what_cannot_be_agreed_on_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsInvalid, match=words):
        agree(**changes)


def test_an_agreement_is_known_by_its_method(tmp_path: Path) -> None:
    prototypes, als = agree(), agree_on_als(world(users=50), 3)
    prototypes.save(tmp_path / "prototypes.json")
    als.save(tmp_path / "als.json")
    assert load_agreement(tmp_path / "prototypes.json") == prototypes
    assert load_agreement(tmp_path / "als.json") == als
    with pytest.raises(SettingsInvalid, match="method"):
        Agreement.load(tmp_path / "prototypes.json")
    lloyd = PrototypeSettings(clustering="lloyd", delta=1e-5)
    assert (prototypes.delta, agree(settings=lloyd).delta) == (0.0, 1e-5)
    for wrong in ({"epsilon": 0.0}, {"settings": PrototypeSettings(clustering="lloyd", delta=0.1)}):
        with pytest.raises(BudgetInvalid):
            agree(**wrong)


def test_factors_that_hide_what_was_paid_are_refused(run: Run) -> None:
    run.fixed = False
    silo = run.reopen("silo-00")
    run.coordinator.drop("silo-01", "silo-02")
    run.send("silo-00")
    factors, own = GlobalFactors.from_bytes(run.coordinator.factors()), silo.statement()
    assert open_factors(factors.to_bytes(), run.agreement, own).epsilon == run.agreement.epsilon
    for lie in ({"epsilon": 1.0, "epsilon_in_two": 2.0}, {"epsilon_in_two": factors.epsilon}):
        with pytest.raises(Refused, match="more privacy"):
            open_factors(replace(factors, **lie).to_bytes(), run.agreement, own)


@pytest.mark.parametrize("other", ["", "0" * 32])
def test_factors_of_another_run_are_refused(run: Run, other: str) -> None:
    for name in run.silos:
        run.send(name)
    factors = GlobalFactors.from_bytes(run.coordinator.factors())
    assert factors.run == run.agreement.run_id
    with pytest.raises(Refused, match="not the factors of this run"):
        open_factors(replace(factors, run=other).to_bytes(), run.agreement)


def test_a_letter_with_an_empty_array_of_endless_sides_is_refused(run: Run) -> None:
    letter = run.silos["silo-00"].answer()
    end = 8 + int.from_bytes(letter[4:8], "little")
    header = json.loads(letter[8:end]) | {"arrays": [["none", [0, 2**39, 2**39]]]}
    text = json.dumps(header).encode()
    with pytest.raises(Refused, match="arrays"):
        run.coordinator.receive("silo-00", letter[:4] + len(text).to_bytes(4, "little") + text + letter[end:])
    assert run.coordinator.status()["messages_up"] == 0
