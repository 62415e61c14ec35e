"""A run that has failed is not lost: it goes on without a silo or ends with what it has, and says what was paid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import BudgetInvalid, DiscreetError, Refused
from discreet.methods.public.protocol import ProtocolRun
from discreet.privacy.statement import Statement
from discreet.silos.shared.messages import AnswerMessage
from tests.silos.worlds import Run, agree, world

RATINGS = world(users=300)
BAD = "silo-03"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    made = Run(tmp_path, RATINGS, agree(RATINGS, 4, honest=3), fixed=False)
    yield made
    made.close()


def reopen(run: Run) -> None:
    run.coordinator.close()
    run.coordinator = run.open_coordinator()


def spoil(run: Run) -> None:
    """The current round, with one answer that no mask of the roster cancels."""
    run.step(leave_out=[BAD])
    question = run.coordinator.question()
    assert question is not None
    answer = AnswerMessage.decode(run.silos[BAD].answer(question), run.agreement)
    run.coordinator.receive(BAD, replace(answer, masked=answer.masked * np.uint64(3)).encode())


def check_paid(run: Run) -> None:
    """No silo has paid more than the coordinator says."""
    paid = max(silo.status()["charged_mu"] for silo in run.silos.values())
    status = run.coordinator.status()
    assert status["charged_mu"] >= paid * (1.0 - 1e-12)
    assert status["epsilon_spent"] > 0.0


def model(run: Run) -> Statement:
    assert run.catalogue is not None
    return run.coordinator.model(run.catalogue).statement


@pytest.mark.parametrize("rescue", ["drop", "finish"])
def test_from_a_failed_round_there_is_a_way_on(run: Run, rescue: str) -> None:
    for _ in range(3):
        run.step()
    spoil(run)
    for _ in range(2):
        with pytest.raises(Refused):
            run.coordinator.question()
        assert run.coordinator.status()["state"] == "failed"
        with pytest.raises(Refused):
            model(run)
        check_paid(run)
        reopen(run)
    if rescue == "drop":
        run.coordinator.drop(BAD)
        reopen(run)
        assert run.coordinator.status()["roster"] == [name for name in run.agreement.roster if name != BAD]
        assert len(run.finish().statement.releases) == 6, "five rounds, and the one that was given up"
    else:
        run.coordinator.finish_early()
    check_paid(run)
    before = model(run)
    assert sum("given up" in release.name for release in before.releases) == 1
    reopen(run)
    assert model(run) == before
    with pytest.raises(Refused, match="is over"):
        run.coordinator.finish_early()


def test_a_release_that_ends_the_run_is_paid_once_and_what_came_before_is_kept(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        run.step()
    spent = run.coordinator.status()["charged_mu"]

    def no_budget(*_: object) -> None:
        raise BudgetInvalid("the budget does not carry the run")

    run.step(leave_out=[BAD])
    question = run.coordinator.question()
    assert question is not None
    last, taken = run.silos[BAD].answer(question), ProtocolRun.take
    monkeypatch.setattr(ProtocolRun, "take", no_budget)
    run.coordinator.receive(BAD, last)
    assert run.coordinator.status()["state"] == "failed"
    assert run.coordinator.status()["charged_mu"] == pytest.approx(spent), (
        "the round under way was counted before"
    )
    monkeypatch.setattr(ProtocolRun, "take", taken)
    for call in (run.coordinator.question, lambda: run.coordinator.drop(BAD)):
        with pytest.raises(DiscreetError):
            call()
    run.coordinator.finish_early()
    assert not any("given up" in release.name for release in model(run).releases)
    check_paid(run)
