"""Silos lost in the middle of a round: the sum is that of the others, they pay once, and nothing else comes off."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Model
from discreet.engines.memory import MemoryEngine
from discreet.errors import Refused, SettingsInvalid
from discreet.methods.budgeted.private.answers import BudgetedAnswers
from discreet.methods.budgeted.settings import BudgetedSettings
from discreet.privacy.gaussian.gate import paid
from discreet.privacy.gaussian.shares import ShareNoise
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.messages import QuestionMessage
from discreet.silos.shared.sealed_shares import ShareLayout
from discreet.silos.silo.own_secrets import OwnSecrets
from tests.silos.worlds import Run, agree, central, dump, noise_key, world

RATINGS = world(users=300)
STAGES = ("answer", "countersign", "reveal")
Away = dict[str, Collection[str]]


def agreed(count: int = 5, honest: int = 3, dropouts: int = 1, **changes: Any) -> Agreement:
    return agree(RATINGS, count, honest=honest, dropouts=dropouts, **changes)


def step(run: Run, away: Away | None = None) -> None:
    """One round, with some silos away from one stage of it on; those who miss the first stage are given up."""
    gone: set[str] = set()
    round_ = run.coordinator.status()["round"]
    for stage in STAGES:
        gone |= set((away or {}).get(stage, ()))
        status = run.coordinator.status()
        if (status["round"], status["stage"]) != (round_, stage):
            continue
        message = run.coordinator.question()
        assert message is not None
        for name in status["waiting_for"]:
            if name not in gone:
                run.coordinator.receive(name, run.silos[name].answer(message))
        left = run.coordinator.status()
        if stage == "answer" and left["round"] == round_ and left["stage"] == "answer":
            run.coordinator.lose(*left["waiting_for"])


def finish(run: Run, away: Away | None = None) -> Model:
    while run.coordinator.question() is not None:
        step(run, away)
    assert run.catalogue is not None
    return run.coordinator.model(run.catalogue)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    made = Run(tmp_path, RATINGS, agreed())
    yield made
    made.close()


def exact(run: Run, question: Any, members: Collection[str], lost: int) -> np.ndarray:
    """What the sum must be: the members' totals, their shares, and as many parts more as silos were lost."""
    message = QuestionMessage.decode(question, run.agreement)
    asked, roster = message.question, message.roster
    suffix = f"|{message.round}|{message.attempt}".encode()
    honest = run.agreement.honest_among(len(roster))
    layout = ShareLayout(run.agreement, roster)
    total = []
    forms = asked.mechanism.empty()
    engines = {name: MemoryEngine(BudgetedAnswers, run.parts[name]).totals(asked) for name in members}
    noises = {}
    for name in members:
        key = noise_key(name) + suffix
        secrets = OwnSecrets.draw(layout, key).top_ups[:lost]
        noises[name] = ShareNoise(honest, key=key, top_ups=secrets)
    for place, form in enumerate(forms):
        block = sum(engines[name][place].value for name in members)
        noise = sum(form.noise(noises[name], paid(asked.mu)) for name in members)
        total.append((block + noise).ravel().astype(np.int64))
    return np.concatenate(total)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("lost", [0, 1, 2])
def test_the_sum_is_that_of_the_members_to_the_last_integer(
    stage: str, lost: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seven silos, five honest, two may be lost at any stage: totals, shares, and the parts that the loss asks for."""
    run = Run(tmp_path, RATINGS, agreed(7, 5, 2))
    step(run)
    sums = []
    import discreet.silos.server.coordinator as module

    real = module.release_sum

    def seen(agreement: Any, position: Any, answers: Any, noise: Any, off: Any) -> Any:
        from discreet.silos.shared.messages import AnswerMessage

        vectors = [AnswerMessage.decode(body, agreement).masked for body in answers]
        sums.append((np.sum(vectors, axis=0, dtype=np.uint64) - off).view(np.int64))
        return real(agreement, position, answers, noise, off)

    monkeypatch.setattr(module, "release_sum", seen)
    question = run.coordinator.question()
    gone = ["silo-01", "silo-04"][:lost]
    step(run, {stage: gone})
    members = [name for name in run.silos if stage != "answer" or name not in gone]
    assert np.array_equal(sums[0], exact(run, question, members, lost if stage == "answer" else 0))
    assert run.coordinator.status()["lost_in"] == ({"1": gone} if lost and stage == "answer" else {})
    run.close()


def test_where_nobody_is_lost_the_model_is_the_central_one(run: Run) -> None:
    model, wanted = finish(run), central(RATINGS, run.agreement)
    assert model.item_side.factors.tobytes() == wanted.item_side.factors.tobytes()
    assert model.item_side.offsets.tobytes() == wanted.item_side.offsets.tobytes()


@pytest.mark.parametrize("noise", ["shares", "server"])
def test_a_silo_lost_in_every_round_costs_nobody_anything(tmp_path: Path, noise: str) -> None:
    """Another one each time, the last round included; whoever comes back goes on, and pays for what it answered."""
    run = Run(tmp_path, RATINGS, agreed(noise=noise), fixed=False)
    lost: list[str] = []
    while run.coordinator.question() is not None:
        lost.append(f"silo-{len(lost) % 5:02}")
        step(run, {"answer": lost[-1:]})
        run.coordinator.close()
        run.coordinator = run.open_coordinator()
    assert run.catalogue is not None
    model = run.coordinator.model(run.catalogue)
    status = run.coordinator.status()
    assert status["state"] == "finished"
    assert status["lost_in"] == {str(round_): [name] for round_, name in enumerate(lost)}
    releases = model.statement.releases
    assert [release.detail["lost"] for release in releases] == lost
    assert sum(release.mu**2 for release in releases) <= run.agreement.budget.mu**2 * (1.0 + 1e-12)
    for name, silo in run.silos.items():
        charged = [release.name for release in silo.statement().releases]
        assert charged == [one.name for one, gone in zip(releases, lost, strict=True) if gone != name]
        silo.close()
        missed = [round_ for round_, gone in enumerate(lost) if gone == name and round_ < len(lost) - 1]
        with run.open_silo(name) as again:
            assert again.status()["missed"] == missed
    run.coordinator.close()


def test_a_silo_away_for_several_rounds_or_from_the_start_comes_back(run: Run) -> None:
    for _ in range(3):
        step(run, {"answer": ["silo-02"]})
    with run.silos["silo-02"] as closed:
        del closed
    run.silos["silo-02"] = run.open_silo("silo-02")
    step(run)
    status = run.silos["silo-02"].status()
    assert (status["round"], status["missed"]) == (3, [0, 1, 2])
    run.silos["silo-02"].close()
    run.silos["silo-02"] = run.open_silo("silo-02")
    finish(run)
    assert run.coordinator.status()["lost_in"] == {str(k): ["silo-02"] for k in range(3)}


def test_a_silo_away_for_longer_than_questions_report_is_told_so(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.silos.server.progress.MOST_PASSED", 2)
    for _ in range(3):
        step(run, {"answer": ["silo-02"]})
    question = run.coordinator.question()
    assert question is not None
    before = dump(run.silos["silo-02"])
    with pytest.raises(Refused, match="cannot follow"):
        run.silos["silo-02"].answer(question)
    assert dump(run.silos["silo-02"]) == before
    run.silos["silo-01"].answer(question)


def test_a_late_answer_is_turned_away_and_its_silo_goes_on(run: Run) -> None:
    question = run.coordinator.question()
    assert question is not None
    late = run.silos["silo-03"].answer(question)
    step(run, {"answer": ["silo-03"], "countersign": []})
    before = dump(run.coordinator)
    assert not run.coordinator.receive("silo-03", late)["accepted"]
    assert dump(run.coordinator) == before
    finish(run)
    spent = {name: silo.status()["charged_mu"] for name, silo in run.silos.items()}
    assert spent["silo-03"] == spent["silo-00"], "it has paid for what it has sent"
    assert run.silos["silo-03"].status()["missed"] == [0]


@pytest.mark.parametrize("stage", STAGES)
def test_a_silo_that_comes_too_late_at_any_stage_changes_nothing(run: Run, stage: str) -> None:
    kept = {}
    for now in STAGES:
        message = run.coordinator.question()
        assert message is not None
        for name in run.coordinator.status()["waiting_for"]:
            reply = run.silos[name].answer(message)
            if (now, name) == (stage, "silo-04"):
                kept[name] = reply
            else:
                run.coordinator.receive(name, reply)
        if now == stage == "answer":
            run.coordinator.lose("silo-04")
            assert not run.coordinator.receive("silo-04", kept["silo-04"])["accepted"]
            with pytest.raises(Refused, match="not in the sum"):
                run.silos["silo-04"].answer(run.coordinator.question() or b"")
    assert run.coordinator.status()["round"] == 1
    assert not run.coordinator.receive("silo-04", kept["silo-04"])["accepted"]


def test_too_many_or_the_wrong_silos_cannot_be_lost(run: Run) -> None:
    question = run.coordinator.question()
    assert question is not None
    for name in ("silo-00", "silo-01", "silo-02"):
        run.coordinator.receive(name, run.silos[name].answer(question))
    before = dump(run.coordinator)
    for names, words in (
        (("silo-03", "silo-04"), "too many to lose"),
        (("silo-03",), "those awaited are silo-03, silo-04"),
        (("silo-00",), "those awaited"),
        ((), "those awaited"),
    ):
        with pytest.raises(Refused, match=words):
            run.coordinator.lose(*names)
        assert dump(run.coordinator) == before
    run.coordinator.receive("silo-03", run.silos["silo-03"].answer(question))
    run.coordinator.lose("silo-04")
    with pytest.raises(Refused, match="closed already"):
        run.coordinator.lose("silo-03")
    with pytest.raises(Refused, match="silo-04 is not awaited"):
        run.coordinator.drop("silo-04")  # this round goes on without it for nothing, and would be paid again
    listed = run.coordinator.question()
    assert listed is not None
    for name in ("silo-00", "silo-01", "silo-02"):
        run.coordinator.receive(name, run.silos[name].answer(listed))
    assert run.coordinator.status()["stage"] == "countersign", "three of four needed"
    run.coordinator.go_on_without("silo-03")
    status = run.coordinator.status()
    assert (status["attempt"], status["roster"]) == (1, ["silo-00", "silo-01", "silo-02", "silo-04"])
    assert run.agreement.dropouts_among(4) == 0, (
        "two honest ones are left for sure, so nobody more may be lost"
    )
    assert finish(run).statement.releases[0].name.endswith("(given up)")


def test_whoever_lets_the_time_pass_is_lost_for_nothing_where_that_can_be(run: Run) -> None:
    question = run.coordinator.question()
    assert question is not None
    for name in list(run.silos)[:4]:
        run.coordinator.receive(name, run.silos[name].answer(question))
    run.coordinator.go_on_without("silo-04")
    status = run.coordinator.status()
    assert (status["stage"], status["lost"], status["attempt"]) == ("countersign", ["silo-04"], 0)


def test_killed_at_every_step_all_parties_go_on_with_the_same_bytes(tmp_path: Path) -> None:
    models = []
    for killed in (False, True):
        folder = tmp_path / str(killed)
        folder.mkdir()
        run = Run(
            folder, RATINGS, models[0][1] if models else agreed(settings=BudgetedSettings(rank=2, rounds=1))
        )
        while (message := run.coordinator.question()) is not None:
            status = run.coordinator.status()
            for name in status["waiting_for"]:
                if (name, status["stage"]) == ("silo-01", "answer"):
                    continue
                reply = run.silos[name].answer(message)
                if killed:
                    run.silos[name].close()
                    run.silos[name] = run.open_silo(name)
                    assert run.silos[name].answer(message) == reply
                run.coordinator.receive(name, reply)
                if killed:
                    run.coordinator.close()
                    run.coordinator = run.open_coordinator()
                    assert run.coordinator.receive(name, reply)["repeated"] or name == "silo-04"
            if status["stage"] == "answer":
                run.coordinator.lose("silo-01")
        assert run.catalogue is not None
        models.append((run.coordinator.model(run.catalogue), run.agreement))
        run.close()
    assert models[0][0].item_side.factors.tobytes() == models[1][0].item_side.factors.tobytes()
    assert models[0][0].statement == models[1][0].statement


def test_nothing_that_opens_a_sum_is_kept_after_its_release(run: Run) -> None:
    step(run, {"answer": ["silo-01"]})
    for _ in range(2):
        kept = dump(run.coordinator)
        assert {row[-1] for row in kept["answers"]} == {None}
        assert {row[-1] for row in kept["replies"]} == {None}
        finish(run)  # after the last round no question comes that would erase them


def test_agreements_say_how_many_may_be_lost_and_older_ones_say_nobody(tmp_path: Path) -> None:
    made = agreed(7, 5, 2)
    made.save(tmp_path / "agreement.json")
    assert Agreement.load(tmp_path / "agreement.json") == made
    older = agreed(dropouts=0)
    assert "dropouts" not in older.model_dump(mode="json")
    assert Agreement.parse(older.model_dump_json().encode()).dropouts == 0
    assert [agreed(count, count // 2 + 1, None).dropouts for count in (2, 3, 4, 5, 9)] == [0, 0, 1, 1, 1]
    assert [made.dropouts_among(left) for left in (7, 6, 5, 4, 3)] == [2, 1, 1, 0, 0]
    assert [made.threshold(left) for left in (7, 6, 5, 4, 3)] == [5, 5, 4, 4, 3]
    for count, honest, dropouts in ((5, 3, 2), (5, 4, 2), (3, 2, 1), (4, 1, 1)):
        with pytest.raises(SettingsInvalid, match="fewer than half of the honest"):
            agreed(count, honest, dropouts)
    with pytest.raises(SettingsInvalid, match="too many for losses"):
        agreed(33, 20, 1)
    assert agreed(33, 20, None).dropouts == 0


@pytest.mark.parametrize(("count", "honest", "dropouts"), [(4, 3, 1), (7, 5, 2)])
def test_any_honest_survivors_have_all_the_noise_there_must_be(
    count: int, honest: int, dropouts: int
) -> None:
    """Measured: after l losses the shares of honest - l survivors have variance sigma^2, those of fewer have less."""
    size, room = 60_000, 6.0 * np.sqrt(2.0 / 60_000)
    sigma = np.full(size, 3000.0)
    layout = ShareLayout(agreed(count, honest, dropouts), [f"silo-{k:02}" for k in range(count)])
    for lost in range(dropouts + 1):
        sums = np.zeros(size)
        for left in range(1, honest - lost + 1):
            secrets = OwnSecrets.draw(layout, None).top_ups
            assert len(secrets) == dropouts
            share = ShareNoise(honest, top_ups=secrets).integers(sigma)
            for number in range(lost + 1, dropouts + 1):  # what is revealed and taken off
                share -= ShareNoise.top_up(honest, number, secrets[number - 1]).integers(sigma)
            sums += share
            found = np.var(sums) / 3000.0**2
            assert abs(found * (honest - lost) / left - 1.0) < room
        assert found >= 1.0 - room


def test_what_a_silo_draws_for_an_answer_is_fresh(run: Run) -> None:
    layout = ShareLayout(run.agreement, run.agreement.roster)
    drawn = [OwnSecrets.draw(layout, None) for _ in range(3)]
    found = [secret for one in drawn for secret in (one.self_mask, *one.top_ups)]
    assert len(set(found)) == len(found) == 6
    assert not any(secret == bytes(32) for secret in found)
    assert OwnSecrets.draw(layout, b"k").self_mask != OwnSecrets.draw(layout, b"k").self_mask
