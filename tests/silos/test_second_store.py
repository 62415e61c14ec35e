"""Two stores of one silo in one run: the second is turned away; where both have answered, all say so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Budget, LedgerFile
from discreet.errors import Refused
from discreet.methods.prototypes import FactorSettings, PrototypeSettings
from discreet.silos.server.prototype_coordinator import PrototypeCoordinator
from discreet.silos.shared.messages import AnswerMessage
from discreet.silos.shared.prototype_agreement import PrototypeAgreement
from discreet.silos.shared.second_store import CHARGE, SecondStore, cost_of
from discreet.silos.silo.prototype_silo import PrototypeSilo
from discreet.silos.silo.silo import Silo
from discreet.silos.silo.silo_ledger import begin_run
from discreet.silos.silo.stored_charges import stored_charges
from tests.silos.worlds import Run, agree, names, parts, private_key, world

RATINGS = world(users=300)
TWICE = "silo-01"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    made = Run(tmp_path, RATINGS, agree(RATINGS, 3, honest=2), fixed=False)
    yield made
    made.close()


@pytest.fixture
def second(run: Run) -> Iterator[Silo]:
    """The same silo with the same ratings and key, and a store of its own."""
    silo = Silo(run.folder / "second.db", run.agreement, TWICE, private_key(TWICE), run.parts[TWICE])
    yield silo
    silo.close()


def asked(run: Run) -> bytes:
    question = run.coordinator.question()
    assert question is not None
    return question


@pytest.mark.parametrize(("honest", "same", "other"), [(1, 7.460, 7.460), (3, 5.549, 14.45)])
def test_what_two_draws_cost(honest: int, same: float, other: float) -> None:
    cost = cost_of(agree(RATINGS, 5, honest=honest, budget=Budget(5.0, 1e-6)))
    assert cost.same == pytest.approx(same, abs=1e-3)
    assert cost.any == pytest.approx(other, abs=1e-2)


def test_two_answers_show_noise_without_the_mask(run: Run, second: Silo) -> None:
    """Why it is fatal: of the difference nothing is left but two shares, and it says which it is."""
    one, other = (
        AnswerMessage.decode(silo.answer(asked(run)), run.agreement).masked
        for silo in (run.silos[TWICE], second)
    )
    difference = (one - other).view(np.int64)
    assert difference.any()
    assert np.abs(difference).max() < 2**50 < np.abs(one.view(np.int64)).max()


def test_the_second_store_is_turned_away_before_anything_is_asked(run: Run, second: Silo) -> None:
    run.coordinator.register(TWICE, run.silos[TWICE].store_id)
    run.coordinator.register(TWICE, run.silos[TWICE].store_id)
    with pytest.raises(
        SecondStore, match="another store of silo-01 takes part in this run already"
    ) as caught:
        run.coordinator.register(TWICE, second.store_id)
    second.learn_of_second_store(str(caught.value))
    assert second.status()["charged_mu"] == 0.0
    run.coordinator.close()
    run.coordinator = run.open_coordinator()
    with pytest.raises(SecondStore):
        run.coordinator.register(TWICE, second.store_id)
    assert run.finish().statement.epsilon == run.agreement.epsilon, "nobody else is disturbed"
    assert run.coordinator.status()["second_stores"] == []


@pytest.mark.parametrize("known_by", ["its bytes", "its store"])
def test_two_answers_are_fatal_recorded_and_stated(run: Run, second: Silo, known_by: str) -> None:
    first, question = run.silos[TWICE], asked(run)
    ids = (first.store_id, second.store_id) if known_by == "its store" else ("", "")
    for silo in (first, second):
        if silo is first:
            run.coordinator.receive(TWICE, silo.answer(question), ids[0])
            continue
        with pytest.raises(SecondStore, match="two stores of silo-01 are in this run: an answer to round 0"):
            run.coordinator.receive(TWICE, silo.answer(question), ids[1])
    for _ in range(2):
        status = run.coordinator.status()
        assert (status["state"], status["second_stores"]) == ("failed", [TWICE])
        with pytest.raises(SecondStore):
            run.coordinator.question()
        run.coordinator.close()
        run.coordinator = run.open_coordinator()


def test_a_late_answer_of_an_earlier_round_is_fatal_too(run: Run, second: Silo) -> None:
    late = second.answer(asked(run))
    run.step()
    with pytest.raises(SecondStore, match="already, with other bytes"):
        run.coordinator.receive(TWICE, late)
    with pytest.raises(SecondStore):
        run.coordinator.question()


def test_after_the_end_it_stands_in_the_statement(run: Run, second: Silo) -> None:
    late = second.answer(asked(run))
    before = run.finish().statement
    with pytest.raises(SecondStore):
        run.coordinator.receive(TWICE, late)
    assert run.catalogue is not None
    after = run.coordinator.model(run.catalogue).statement
    words = cost_of(run.agreement).words(TWICE)
    assert set(after.not_protected) - set(before.not_protected) == {words}
    assert f"epsilon {cost_of(run.agreement).same:.4g}" in words


def test_both_stores_own_up_and_answer_no_more(run: Run, second: Silo) -> None:
    question, cost = asked(run), cost_of(run.agreement)
    for silo in (run.silos[TWICE], second):
        silo.answer(question)
        silo.learn_of_second_store("two stores of silo-01")
        silo.learn_of_second_store("two stores of silo-01")
        for _ in range(2):
            status, statement = silo.status(), silo.statement()
            assert status["epsilon_spent"] == pytest.approx(cost.any, rel=1e-6)
            assert statement.epsilon == cost.any
            assert statement.releases[-1].name == CHARGE
            assert (statement.mu or 0.0) >= (cost.mu or 0.0) * (1.0 - 1e-9)
            with pytest.raises(Refused, match="nothing more is answered from this store"):
                silo.answer(question)
            if silo is second:
                break
            silo.close()
            silo = run.silos[TWICE] = run.open_silo(TWICE)
    second.close()
    stored = stored_charges(run.folder / "second.db")
    assert stored is not None
    assert [name for name, _ in stored.gaussian][-1] == CHARGE


def test_the_ledger_of_the_data_set_has_it_too(run: Run, tmp_path: Path) -> None:
    ledger = LedgerFile(tmp_path / "north.ledger")
    with (
        begin_run(ledger, run.agreement, TWICE) as journal,
        Silo(
            tmp_path / "kept.db", run.agreement, TWICE, private_key(TWICE), run.parts[TWICE], journal=journal
        ) as silo,
    ):
        silo.answer(asked(run))
        silo.learn_of_second_store("two stores of silo-01")
        assert "the ledger has all of them" in silo.statement().notes[-1]
    [entered] = ledger.account().runs.values()
    assert entered.charges[-1].name == CHARGE


@pytest.fixture(params=["swap", "lloyd"])
def prototypes(request: pytest.FixtureRequest) -> PrototypeAgreement:
    assert RATINGS.catalogue is not None
    options: dict[str, Any] = {
        "settings": PrototypeSettings(
            prototypes=4, users=100, dimension=4, support=10, clustering=request.param
        ),
        "factors": FactorSettings(rank=3, rounds=5),
    }
    return PrototypeAgreement.make(
        "a test",
        silos=names(2),
        epsilon=20.0,
        catalogue=RATINGS.catalogue,
        rating_range=RATINGS.rating_range,
        **options,
    )


def test_two_messages_of_prototypes(prototypes: PrototypeAgreement, tmp_path: Path) -> None:
    part, ledger = parts(RATINGS, 2)[1], LedgerFile(tmp_path / "north.ledger")
    with (
        PrototypeCoordinator(tmp_path / "server.db", prototypes) as server,
        begin_run(ledger, prototypes, TWICE) as journal,
        PrototypeSilo(tmp_path / "a.db", prototypes, TWICE, part, journal=journal) as first,
        PrototypeSilo(tmp_path / "b.db", prototypes, TWICE, part) as second,
        PrototypeSilo(tmp_path / "c.db", prototypes, "silo-00", parts(RATINGS, 2)[0]) as other,
    ):
        server.register(TWICE, first.store_id)
        with pytest.raises(SecondStore):
            server.register(TWICE, second.store_id)
        server.receive("silo-00", other.answer(), other.store_id)
        server.receive(TWICE, first.answer(), first.store_id)
        with pytest.raises(SecondStore):
            server.receive(TWICE, second.answer())
        assert server.status()["state"] == "failed"
        with pytest.raises(SecondStore):
            server.question()
        for silo in (first, second):
            silo.learn_of_second_store("two stores of silo-01")
            stated = silo.statement()
            assert stated is not None
            assert stated.epsilon == pytest.approx(2 * prototypes.epsilon)
            assert stated.delta == pytest.approx(2 * prototypes.delta)
            assert silo.status()["epsilon_spent"] == 2 * prototypes.epsilon
            with pytest.raises(Refused, match="nothing more is sent"):
                silo.answer()
        [entered] = ledger.account().runs.values()
        assert sum(CHARGE in charge.name for charge in entered.charges) * 2 == len(entered.charges) > 0
        server.drop(TWICE)
        assert server.status()["state"] == "finished"
        assert RATINGS.catalogue is not None
        stated = server.model(RATINGS.catalogue).statement
        assert stated.not_protected[-1] == cost_of(prototypes).words(TWICE)
        assert stated.silos is not None
        assert stated.silos.count == 1
