"""A silo that stays away: the round is asked again without it, paid for again, and never silently wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet import Budget
from discreet.catalogue import RatingScale
from discreet.engines.memory import MemoryEngine
from discreet.errors import BudgetInvalid, Refused
from discreet.methods.budgeted.private.contributions import BudgetedContributions
from discreet.methods.budgeted.public.constants import BudgetedSettings
from discreet.methods.budgeted.public.train import BUDGETED
from discreet.methods.public.half import Facts
from discreet.methods.public.protocol import ProtocolRun
from discreet.privacy.gaussian.gate import Gate, paid
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.shares import ShareNoise
from discreet.privacy.ledger import Ledger
from discreet.silos.shared.messages import AnswerMessage
from tests.silos.worlds import BUDGET, Run, agree, asked, dump, noise_key, world

RATINGS = world(users=400)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    made = Run(tmp_path, RATINGS, agree(RATINGS, 4, honest=3), fixed=False)
    yield made
    made.close()


def costs(run: Run, name: str) -> list[tuple[str, float]]:
    return [(release.name, release.mu) for release in run.silos[name].statement().releases]


@pytest.mark.parametrize(("when", "noise"), [(0, "shares"), (1, "server"), (3, "shares")])
def test_a_lost_silo_is_left_out_and_the_repeat_is_paid_and_stated(
    tmp_path: Path, when: int, noise: str
) -> None:
    run = Run(tmp_path, RATINGS, agree(RATINGS, 4, honest=3, noise=noise), fixed=False)
    for _ in range(when):
        run.step()
    first = asked(run).question
    run.step(leave_out=["silo-02"])
    late = run.silos["silo-02"].answer(asked(run).encode())
    run.coordinator.drop("silo-02")
    again = asked(run)
    assert (again.round, again.attempt, again.roster) == (when, 1, ("silo-00", "silo-01", "silo-03"))
    assert again.question.mu < first.mu
    before = dump(run.coordinator)
    with pytest.raises(Refused, match="out of this run"):
        run.coordinator.receive("silo-02", late)
    assert dump(run.coordinator) == before
    with pytest.raises(Refused, match="out of this run"):
        run.silos["silo-02"].answer(again.encode())
    model = run.finish()
    allowed = run.agreement.budget.mu
    for name in ("silo-00", "silo-01", "silo-03"):
        charged = costs(run, name)
        assert sum(mu**2 for _, mu in charged) <= allowed**2 * (1.0 + 1e-12)
        assert sum(mu**2 for _, mu in charged) == pytest.approx(allowed**2, rel=1e-9), "and all of it is used"
        names = [entry for entry, _ in charged]
        assert names[when : when + 2] == [first.name, f"{first.name}, repeat 1 with fewer silos"]
        assert charged[when][1] == first.mu
    assert sum(mu**2 for _, mu in costs(run, "silo-02")) < allowed**2
    stated = [(release.name, release.mu) for release in model.statement.releases]
    assert stated[when] == (f"{first.name} (given up)", first.mu)
    assert [mu for _, mu in stated] == [mu for _, mu in costs(run, "silo-00")]
    assert model.statement.epsilon == BUDGET.epsilon
    run.close()


def test_the_sum_of_a_repeat_is_that_of_the_silos_left_under_new_masks_and_new_noise(tmp_path: Path) -> None:
    run = Run(tmp_path, RATINGS, agree(RATINGS, 4, honest=3), fixed=False)
    run.step(leave_out=["silo-02"])
    first = {
        name: AnswerMessage.decode(run.silos[name].answer(asked(run).encode()), run.agreement).masked
        for name in run.silos
    }
    run.coordinator.drop("silo-02")
    left = asked(run).roster
    second = {
        name: AnswerMessage.decode(run.silos[name].answer(asked(run).encode()), run.agreement).masked
        for name in left
    }
    totals = [np.sum(list(part.values()), axis=0, dtype=np.uint64).view(np.int64) for part in (first, second)]
    for name in left:
        change = (first[name] - second[name]).view(np.int64)
        # All nine numbers that small by chance: 2^-45.
        assert np.abs(change.astype(float)).max() > 2.0**58, "the same mask twice would show the difference"
    # About 400 users, then those of three silos; were the shares the same, they would differ by the lost silo alone.
    grid = 2.0**20
    users = [len(run.parts[name].user_ids) for name in run.silos]
    sigma = np.sqrt(3.0) / asked(run).question.mu
    assert abs(totals[0][0] / grid - sum(users)) < 10 * sigma
    assert abs(totals[1][0] / grid - (sum(users) - users[2])) < 10 * sigma
    run.close()


def test_after_a_loss_the_shares_of_those_left_are_all_the_noise_there_must_be(tmp_path: Path) -> None:
    """Of four silos three are honest; if the lost one was, two are left, whose shares must be larger by sqrt(3/2)."""
    run = Run(tmp_path, RATINGS, agree(RATINGS, 4, honest=3))
    run.step()
    run.step(leave_out=["silo-02"])
    run.coordinator.drop("silo-02")
    message = asked(run)
    answers = [
        AnswerMessage.decode(run.silos[name].answer(message.encode()), run.agreement).masked
        for name in message.roster
    ]
    got = np.sum(answers, axis=0, dtype=np.uint64).view(np.int64)
    question = message.question
    shares = [ShareNoise(2, key=noise_key(name) + b"|1|1") for name in message.roster]
    wanted = []
    for place, form in enumerate(question.mechanism.empty()):
        exact = sum(
            MemoryEngine(BudgetedContributions, run.parts[name]).totals(question)[place].value
            for name in message.roster
        )
        wanted.append((exact + sum(form.noise(one, paid(question.mu)) for one in shares)).ravel())
    assert np.array_equal(got, np.concatenate(wanted))
    run.close()


def test_two_silos_lost_one_after_another_and_one_that_saw_neither_attempt(run: Run) -> None:
    run.step()
    run.step(leave_out=["silo-01", "silo-02", "silo-03"])
    run.coordinator.drop("silo-03")
    run.coordinator.drop("silo-02")
    assert asked(run).attempt == 2
    model = run.finish()
    assert [name for name, _ in costs(run, "silo-00")][:3] == [
        "activity: users and ratings per user",
        "offsets",
        "offsets, repeat 2 with fewer silos",
    ]
    assert [name for name, _ in costs(run, "silo-01")][1] == "offsets, repeat 2 with fewer silos"
    assert [release.name for release in model.statement.releases][1:4] == [
        "offsets (given up)",
        "offsets, repeat 1 with fewer silos (given up)",
        "offsets, repeat 2 with fewer silos",
    ]
    assert model.statement.releases[3].detail["silos"] == 2


def test_two_silos_lost_at_once_cost_one_repeat(run: Run) -> None:
    run.step()
    run.step(leave_out=["silo-02", "silo-03"])
    before = dump(run.coordinator)
    for wrong in (("silo-03", "silo-00"), ("silo-03", "stranger"), ()):
        with pytest.raises(Refused):
            run.coordinator.drop(*wrong)
        assert dump(run.coordinator) == before
    run.coordinator.drop("silo-02", "silo-03")
    assert (asked(run).attempt, asked(run).roster) == (1, ("silo-00", "silo-01"))
    while run.step():  # stores with a repeat in them are read back to the same state
        run.coordinator.close()
        run.coordinator = run.open_coordinator()
        for name in run.silos:
            run.silos[name].close()
            run.silos[name] = run.open_silo(name)
    model = run.finish()
    repeats = [
        "activity: users and ratings per user",
        "offsets",
        "offsets, repeat 1 with fewer silos",
    ]
    assert [name for name, _ in costs(run, "silo-00")][:3] == repeats
    repeats[1] += " (given up)"
    assert [release.name for release in model.statement.releases][:3] == repeats
    assert len(model.statement.releases) == len(costs(run, "silo-00"))


def test_too_few_silos_end_it_and_nothing_changes(run: Run) -> None:
    run.step(leave_out=list(run.silos))
    run.coordinator.drop("silo-00")
    run.coordinator.drop("silo-01")
    before = dump(run.coordinator)
    with pytest.raises(Refused, match="too few"):
        run.coordinator.drop("silo-02")
    assert dump(run.coordinator) == before
    run.finish()


def test_only_who_is_awaited_can_be_given_up(run: Run) -> None:
    run.step(leave_out=["silo-03"])
    for name in ("silo-00", "stranger"):
        with pytest.raises(Refused, match="not awaited"):
            run.coordinator.drop(name)
    run.finish()
    with pytest.raises(Refused, match="not awaited"):
        run.coordinator.drop("silo-03")


def test_in_the_last_round_nothing_is_left_to_repeat_it_with(run: Run) -> None:
    for _ in range(4):
        run.step()
    run.step(leave_out=["silo-03"])
    before = dump(run.coordinator)
    with pytest.raises(Refused, match="cannot be repeated"):
        run.coordinator.drop("silo-03")
    assert dump(run.coordinator) == before
    question = asked(run)
    # Nor does a silo let itself be asked: what is left is in its ledger.
    forged = replace(question, attempt=1, roster=question.roster[:-1])
    spent = dump(run.silos["silo-00"])
    with pytest.raises(Refused, match="cannot be repeated"):
        run.silos["silo-00"].answer(forged.encode())
    assert dump(run.silos["silo-00"]) == spent
    run.coordinator.finish_early()
    assert run.coordinator.question() is None
    model = run.finish()
    assert model.statement.releases[-1].name == "round 3 (given up)"
    assert model.statement.epsilon == BUDGET.epsilon, "what users may have paid, whatever the run came to"
    assert model.item_side.rank == 3
    status = run.coordinator.status()
    assert model.settings["rounds"] == status["round"] - 2 < run.agreement.settings.rounds
    assert status["rounds"] == status["round"]
    run.coordinator.close()
    run.coordinator = run.open_coordinator()
    assert run.finish().statement == model.statement


def test_a_run_cannot_end_before_it_has_learnt_anything(run: Run) -> None:
    run.step()
    with pytest.raises(Refused, match="ended early"):
        run.coordinator.finish_early()


def test_repeats_spread_what_is_left_in_the_planned_proportions() -> None:
    growth = 1.3
    # With factors the releases decide how the rest is divided; of offsets alone nothing but the plan does.
    offsets = BudgetedSettings(rank=0, offset_share=0.2, growth=growth)
    factors = BudgetedSettings(rank=2, rounds=4, growth=growth)
    facts = Facts(20, RatingScale((1.0, 5.0)), Budget(5.0, 1e-6), 1.0)
    engine = MemoryEngine(BudgetedContributions, world(users=500, items=20))

    def spend(repeat_at: tuple[int, ...], settings: BudgetedSettings = offsets) -> list[float]:
        """What every attempt costs, those that are given up included."""
        protocol, costs = ProtocolRun(BUDGETED, settings, facts, 0), []
        gate = Gate(Ledger(Budget(50.0, 1e-6)), Noise.fixed_key_not_private(b"k"))
        while (question := protocol.query) is not None:
            costs.append(question.mu)
            done = protocol.done
            if repeat_at.count(done) > given_up.count(done):
                given_up.append(done)
                protocol.repeat()
                continue
            totals = engine.totals(question)
            protocol.take(
                gate.release_totals(question.name, question.mechanism.empty(), totals, mu=question.mu)
            )
        return costs

    given_up: list[int] = []
    planned = spend(())
    assert np.sum(np.square(planned)) == pytest.approx(1.0)
    given_up = []
    first = spend((0,))
    scale = np.sqrt(1.0 - planned[0] ** 2)
    assert np.allclose(first, [planned[0], *(scale * cost for cost in planned)])
    given_up = []
    both = spend((0, 1, 1))
    assert np.sum(np.square(both)) == pytest.approx(1.0)
    assert np.allclose(np.array(both[4:]) / np.array(planned[1:]), both[4] / planned[1])
    given_up = []
    assert np.sum(np.square(spend((0, 1, 1), factors))) == pytest.approx(1.0)
    given_up = []
    with pytest.raises(BudgetInvalid, match="cannot be repeated"):
        spend((5,))
