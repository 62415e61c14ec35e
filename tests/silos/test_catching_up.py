"""Silos that have missed a round make up for it: their users count more, pay for it, and never more than was agreed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import Refused, SettingsInvalid
from discreet.methods.budgeted.private.answers import BudgetedAnswers
from discreet.methods.budgeted.public.questions import ActivityQuestion, RoundQuestion
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.blocks import UserVector
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.reach import MOST_REACH, stretched
from discreet.privacy.gaussian.silo_gate import SiloGate
from discreet.privacy.gaussian.totals import add_totals, bounded, exact_totals
from discreet.privacy.ledger import Ledger
from discreet.silos.server import coordinator
from discreet.silos.shared.messages import AnswerMessage, QuestionMessage
from discreet.silos.silo.catching_up import reach_of
from tests.silos.test_lost_silos import agreed, exact, finish, step
from tests.silos.test_sensitivity import BOUND, hostile_users, questions, with_user
from tests.silos.worlds import Run, world

RATINGS = world(users=300)
SMALL = world(users=60, items=25, seed=3)
REACHES = (1.0001, 1.2, np.sqrt(2.0), MOST_REACH)


def charges(run: Run, name: str) -> dict[int, float]:
    """What a silo was charged, by the round."""
    ledger = run.silos[name]._store.ledger(run.agreement)
    return {int(charge.detail["round"]): charge.mu for charge in ledger.charges}


@pytest.mark.parametrize("kind", ["ratings", "clicks"])
@pytest.mark.parametrize("reach", REACHES)
def test_one_user_more_moves_the_totals_by_at_most_the_reach(kind: str, reach: float) -> None:
    ratings = world(kind, users=60, items=25, seed=3)
    others = [with_user(ratings, items, values) for items, values in hostile_users(ratings)]
    others += [ratings.take_users(np.arange(60) != user) for user in range(0, 60, 12)]
    largest = 0.0
    for question in questions(kind):
        if not question.weighs:
            continue
        forms, first = (
            question.mechanism.empty(),
            exact_totals(BudgetedAnswers(ratings).answer(question), reach),
        )
        for other in others:
            square = 0.0
            second = exact_totals(BudgetedAnswers(other).answer(question), reach)
            for form, one, two in zip(forms, first, second, strict=True):
                weights = getattr(form, "item_weights", np.ones(1)).reshape(-1, *[1] * (one.value.ndim - 1))
                square += float((((one.value - two.value) * weights / form.unit) ** 2).sum())
            largest = max(largest, float(np.sqrt(square)))
    assert largest <= reach * BOUND
    assert largest > 0.99 * reach, "and what is charged is used"


def test_who_is_above_the_reach_is_left_out() -> None:
    """Whatever stretched them: the check is on the integers that are summed."""
    block = UserVector("sums", 1000.0, np.array([[1900, 0], [0, 1901], [400, 300]], dtype=np.int32))
    (kept,) = bounded([block], 1.9)
    assert kept.values.tolist() == [[1900, 0], [0, 0], [400, 300]]


def test_what_is_charged_is_the_reach_times_the_cost() -> None:
    question, ledger = questions("ratings")[2], Ledger(Budget(50.0, 1e-6))
    totals = exact_totals(BudgetedAnswers(SMALL).answer(question), 1.5)
    forms = question.mechanism.empty()
    SiloGate(ledger, None).totals("x", forms, totals, mu=question.mu, detail={}, reach=1.5)
    assert ledger.spent_mu == pytest.approx(1.5 * question.mu, rel=1e-12)


def test_a_gate_takes_no_totals_of_another_reach_than_it_charges_for() -> None:
    question = questions("ratings")[2]
    forms, blocks = question.mechanism.empty(), BudgetedAnswers(SMALL).answer(question)
    once, more = exact_totals(blocks), exact_totals(blocks, 1.5)
    ledger = Ledger(Budget(50.0, 1e-6))
    with pytest.raises(SettingsInvalid, match="another unit"):
        Gate(ledger).release_totals("x", forms, more, mu=question.mu)
    for totals, reach in ((more, 1.0), (once, 1.5), (more, 1.4)):
        with pytest.raises(SettingsInvalid, match="another unit"):
            SiloGate(ledger, None).totals("x", forms, totals, mu=question.mu, detail={}, reach=reach)
    with pytest.raises(SettingsInvalid, match="different units"):
        add_totals(once, more)
    assert ledger.spent_mu == 0.0


def test_a_reach_that_cannot_be() -> None:
    blocks = BudgetedAnswers(SMALL).answer(questions("ratings")[2])
    for reach in (0.5, 2.0, float("nan")):
        with pytest.raises(SettingsInvalid, match="counts 1 to"):
            stretched(blocks, reach)
    with pytest.raises(SettingsInvalid, match="cannot count more than once"):
        stretched([UserVector("sums", 1.0, np.zeros((1, 2), np.int32))], 1.5)
    assert stretched(blocks, 1.0) is blocks, "to the last bit"


def test_a_question_that_counts_people_is_not_stretched() -> None:
    first, second = questions("ratings")[:2]
    assert isinstance(first, ActivityQuestion)
    assert isinstance(second, RoundQuestion)
    assert reach_of(agreed(), first, 2.0, 1.0) == 1.0
    assert reach_of(agreed(), second, 1.2, 1.0) == pytest.approx(1.2)
    assert reach_of(agreed(), second, 9.0, 1.0) == MOST_REACH
    assert reach_of(agreed(), second, 1.0 + 1e-9, 1.0) == 1.0
    assert reach_of(agreed(), second, 0.5, 1.0) == 1.0
    assert reach_of(agreed(dropouts=0), second, 1.2, 1.0) == 1.0


@given(
    costs=st.lists(st.floats(0.01, 3.0), min_size=2, max_size=15),
    missed=st.lists(st.booleans(), min_size=15, max_size=15),
)
def test_whatever_is_missed_a_silo_never_pays_more_than_the_plan(
    costs: list[float], missed: list[bool]
) -> None:
    """At no time, so that the coordinator's account and its statement cover every silo."""
    question = questions("ratings")[1]
    scale = 1.0 / np.sqrt(np.sum(np.square(costs)))
    left, own, reaches = 1.0, 1.0, []
    for cost, away in zip(np.array(costs) * scale, missed, strict=False):
        if not away:
            reach = reach_of(agreed(), question, float(np.sqrt(own)), float(np.sqrt(max(left, 0.0))))
            reaches.append(reach)
            own -= (reach * cost) ** 2
        left -= cost**2
        assert own >= left - 1e-12
    assert own >= -1e-12
    if not any(missed[: len(costs)]):
        assert set(reaches) == {1.0}, "who has missed nothing counts once"


def test_users_of_a_lost_silo_count_more_in_the_rounds_that_are_left(tmp_path: Path) -> None:
    run = Run(tmp_path, RATINGS, agreed(), fixed=False)
    planned = {}
    while (body := run.coordinator.question()) is not None:
        round_ = run.coordinator.status()["round"]
        planned[round_] = QuestionMessage.decode(body, run.agreement).question.mu
        step(run, {"answer": ["silo-01"]} if round_ == 1 else None)
    ours, theirs = charges(run, "silo-01"), charges(run, "silo-03")
    assert theirs == pytest.approx(planned, rel=1e-12), "who has missed nothing pays what was planned"
    assert set(ours) == set(planned) - {1}
    assert ours[0] == pytest.approx(planned[0], rel=1e-12)
    last = max(planned)
    total = sum(mu**2 for mu in planned.values())
    reach = np.sqrt((total - planned[0] ** 2) / (total - planned[0] ** 2 - planned[1] ** 2))
    for round_ in range(2, last + 1):
        assert ours[round_] == pytest.approx(reach * planned[round_], rel=1e-6)
    spent = run.silos["silo-01"].status()["charged_mu"]
    assert spent == pytest.approx(run.coordinator.status()["charged_mu"], rel=1e-6)
    assert spent <= run.agreement.budget.mu
    assert run.catalogue is not None
    [note] = run.coordinator.model(run.catalogue).statement.notes
    assert max(ours[round_] / planned[round_] for round_ in ours) <= MOST_REACH
    assert f"up to {MOST_REACH} times what is listed" in note, "and whoever reads what releases cost is told"
    stated = run.silos["silo-01"].statement()
    assert stated.private
    assert stated.epsilon == run.agreement.epsilon
    notes = [release.detail.get("reach") for release in stated.releases]
    assert notes[0] is None
    assert notes[-1] == pytest.approx(reach, rel=1e-6), "and says how often they counted"
    run.close()


def test_the_sum_has_them_as_often_as_was_charged_to_the_last_integer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, sums, real = Run(tmp_path, RATINGS, agreed()), [], coordinator.release_sum

    def seen(agreement: Any, position: Any, answers: Any, noise: Any, off: Any) -> Any:
        vectors = [AnswerMessage.decode(body, agreement).masked for body in answers]
        sums.append((np.sum(vectors, axis=0, dtype=np.uint64) - off).view(np.int64))
        return real(agreement, position, answers, noise, off)

    step(run)
    step(run, {"answer": ["silo-01"]})
    question = run.coordinator.question()
    monkeypatch.setattr(coordinator, "release_sum", seen)
    step(run)
    asked = QuestionMessage.decode(question, run.agreement).question
    reach = charges(run, "silo-01")[2] / asked.mu
    assert reach > 1.05
    blocks = BudgetedAnswers(run.parts["silo-01"]).answer(asked)
    once = np.concatenate([total.value.ravel() for total in exact_totals(blocks)])
    # The charge is the product of reach and cost; divided again, the reach may have another last bit.
    wanted = []
    for near in (reach, np.nextafter(reach, 2.0), np.nextafter(reach, 1.0)):
        often = np.concatenate([total.value.ravel() for total in exact_totals(blocks, near)])
        wanted.append(exact(run, question, list(run.silos), 0) - once + often)
    assert any(np.array_equal(sums[0], one) for one in wanted)
    run.close()


def test_a_silo_that_was_restarted_goes_on_as_it_would_have(tmp_path: Path) -> None:
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
    run, other = (Run(tmp_path / folder, RATINGS, agreed()) for folder in ("one", "other"))
    for one in (run, other):
        step(one)
        step(one, {"answer": ["silo-01"]})
        step(one)
    run.silos["silo-01"].close()
    run.silos["silo-01"] = run.open_silo("silo-01")
    for one in (run, other):
        finish(one)
    assert charges(run, "silo-01") == charges(other, "silo-01")
    for one in (run, other):
        one.close()


def test_a_server_that_denies_what_it_has_gets_no_more(tmp_path: Path) -> None:
    """Told that it was lost where it has answered and paid, a silo has nothing to make up for."""
    run = Run(tmp_path, RATINGS, agreed())
    step(run)
    body = run.coordinator.question()
    assert body is not None
    for name in run.silos:
        answer = run.silos[name].answer(body)
        if name != "silo-01":
            run.coordinator.receive(name, answer)
    run.coordinator.lose("silo-01")
    step(run)
    while run.coordinator.status()["round"] == 1:
        step(run)
    asked = QuestionMessage.decode(run.coordinator.question(), run.agreement).question
    step(run)
    assert charges(run, "silo-01")[2] == pytest.approx(asked.mu, rel=1e-12)
    assert set(charges(run, "silo-01")) == {0, 1, 2}
    run.close()


def test_an_old_copy_of_a_store_answers_nothing(tmp_path: Path) -> None:
    """It does not know what was paid since, and would make up for it a second time."""
    run = Run(tmp_path, RATINGS, agreed())
    step(run)
    run.silos["silo-01"].close()
    shutil.copy(tmp_path / "silo-01.db", tmp_path / "backup.db")
    run.silos["silo-01"] = run.open_silo("silo-01")
    # With somebody lost the next question tells how the round ended; without, no copy could follow.
    step(run, {"answer": ["silo-02"]})
    run.silos["silo-01"].close()
    shutil.copy(tmp_path / "backup.db", tmp_path / "silo-01.db")
    run.silos["silo-01"] = run.open_silo("silo-01")
    body = run.coordinator.question()
    assert body is not None
    with pytest.raises(Refused, match="did not come from this store"):
        run.silos["silo-01"].answer(body)
    assert set(charges(run, "silo-01")) == {0}
    step(run, {"answer": ["silo-01"]})
    assert run.coordinator.status()["round"] == 3, "and the others go on without it"
    run.close()
