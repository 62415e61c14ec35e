"""Before each sum every silo signs that it is there: who is away then costs nothing, who is lost later a repeat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.errors import Refused
from discreet.model.item_weights import ItemWeights
from discreet.silos.shared.messages import PresentMessage, QuestionMessage, RollCall
from discreet.silos.shared.position import RunVoid
from discreet.silos.shared.signing import SigningKey
from tests.silos.worlds import Run, agree, asked, central, dump, names, signing_key, signing_keys, world

RATINGS = world(users=300)
LAST = "silo-03"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    made = Run(tmp_path, RATINGS, agree(RATINGS, 4, honest=3, **signing_keys(4)))
    yield made
    made.close()


def called(run: Run) -> bytes:
    call = run.coordinator.question()
    assert call is not None
    assert run.coordinator.status()["stage"] == "roll call"
    return call


def paid(run: Run) -> dict[str, float]:
    return {name: float(silo.status()["charged_mu"]) for name, silo in run.silos.items()}


def reopen(run: Run) -> None:
    run.coordinator.close()
    run.coordinator = run.open_coordinator()
    for name in list(run.silos):
        run.silos[name].close()
        run.silos[name] = run.open_silo(name)


def test_with_everybody_there_the_model_is_the_central_one(run: Run) -> None:
    one, two = run.finish(), central(RATINGS, run.agreement)
    assert one.item_side.factors.tobytes() == two.item_side.factors.tobytes()
    assert one.item_side.offsets.tobytes() == two.item_side.offsets.tobytes()


@pytest.mark.parametrize("when", [0, 4])
def test_a_silo_that_is_away_when_the_roll_is_called_costs_nothing(run: Run, when: int) -> None:
    """Also in the first round and in the last one, which nothing is left to repeat; killed at every step."""
    for _ in range(when):
        run.step()
    before = paid(run)
    run.call_roll(leave_out=[LAST])
    assert run.coordinator.status()["waiting_for"] == [LAST]
    assert paid(run) == before
    reopen(run)
    run.coordinator.drop(LAST)
    assert run.coordinator.status()["waiting_for"] == names(3), "the others sign again, without it"
    reopen(run)
    model = run.finish()
    status = run.coordinator.status()
    assert (status["roster"], status["attempt"]) == (names(3), 0)
    assert not any(
        "given up" in release.name or "repeat" in release.name for release in model.statement.releases
    )
    for name in names(3):
        assert len(run.silos[name].statement().releases) == 5
        assert run.silos[name].status()["charged_mu"] == pytest.approx(run.agreement.budget.mu)
    reopen(run)
    assert run.finish().statement == model.statement
    with pytest.raises(Refused, match="out of this run"):
        run.coordinator.receive(LAST, presence(run, LAST, names(4)))


def presence(run: Run, name: str, roster: list[str], signer: str | None = None) -> bytes:
    position = run.coordinator.status()
    call = RollCall(run.agreement.run_id, position["round"], position["attempt"], tuple(roster))
    key = SigningKey(run.agreement, signer or name, signing_key(signer or name))
    return replace(PresentMessage.sign(call, key, run.agreement), silo=name).encode()


def test_a_silo_lost_after_it_has_signed_costs_a_repeat(run: Run) -> None:
    run.step()
    run.call_roll()
    question = run.coordinator.question()
    assert question is not None
    first = QuestionMessage.decode(question, run.agreement)
    run.coordinator.receive("silo-00", run.silos["silo-00"].answer(question))
    run.coordinator.drop(LAST)
    run.call_roll()
    again = asked(run)
    assert (again.round, again.attempt) == (1, 1)
    assert again.question.mu < first.question.mu
    releases = run.finish().statement.releases
    assert [release.name for release in releases[1:3]] == [
        "offsets (given up)",
        "offsets, repeat 1 with fewer silos",
    ]


def test_a_silo_answers_no_sum_that_not_all_have_signed_to_be_in(run: Run) -> None:
    run.call_roll()
    question = asked(run)
    signed = question.signatures
    silo = run.silos["silo-00"]
    before = dump(silo)
    for change, words in [
        ({"signatures": ()}, "roll call that all of 4 silos have signed"),
        ({"signatures": signed[:-1]}, "roll call that all of 4 silos have signed"),
        ({"signatures": (*signed[:-1], signed[0])}, "silo-03 has not signed"),
        ({"signatures": signed[:-1], "roster": tuple(names(3))}, "silo-00 has not signed"),
        ({"attempt": 1, "signatures": signed[:-1], "roster": tuple(names(3))}, "has not signed"),
    ]:
        with pytest.raises(Refused, match=words):
            silo.answer(replace(question, **change).encode())  # type: ignore[arg-type]
        assert dump(silo) == before
    assert silo.answer(question.encode())


def test_the_server_takes_no_presence_but_a_silos_own_for_this_sum(run: Run) -> None:
    called(run)
    before = dump(run.coordinator)
    for name, body, words in [
        ("silo-00", presence(run, "silo-00", names(4), signer="silo-01"), "silo-00 has not signed"),
        ("silo-00", presence(run, "silo-01", names(4)), "in the name of silo-01"),
        ("silo-00", presence(run, "silo-00", names(3)), "not being called"),
        ("silo-00", b"dsH1" + bytes(40), "header"),
    ]:
        with pytest.raises(Refused, match=words):
            run.coordinator.receive(name, body)
        assert dump(run.coordinator) == before
    right = presence(run, "silo-00", names(4))
    assert not run.coordinator.receive("silo-00", right)["repeated"]
    assert run.coordinator.receive("silo-00", right)["repeated"]
    assert run.coordinator.status()["waiting_for"] == names(4)[1:]


def test_signing_is_free_and_leaves_no_trace(run: Run) -> None:
    call, silo = called(run), run.silos["silo-00"]
    before = dump(silo)
    assert silo.answer(call) == silo.answer(call)
    assert dump(silo) == before
    assert silo.status()["charged_mu"] == 0.0
    with pytest.raises(Refused, match="out of this run"):
        silo.answer(RollCall(run.agreement.run_id, 0, 0, tuple(names(4)[1:])).encode())


@pytest.mark.parametrize("spare", [0.0, 0.3])
def test_lists_whose_sum_of_pairs_lost_a_silo_are_repeated_out_of_a_spare_share_or_void(
    tmp_path: Path, spare: float
) -> None:
    agreement = agree(RATINGS, 4, honest=3, method="ease", settings=None, spare=spare, **signing_keys(4))
    run = Run(tmp_path, RATINGS, agreement)
    run.step()
    run.call_roll()
    first = asked(run).question.mu
    assert first == pytest.approx(agreement.budget.mu * (0.95 * (1.0 - spare)) ** 0.5)
    run.step(leave_out=[LAST])
    if not spare:
        with pytest.raises(RunVoid, match=r"'how often two items are taken together' cannot be repeated"):
            run.coordinator.drop(LAST)
        assert run.coordinator.status()["charged_mu"] == pytest.approx(agreement.budget.mu)
    else:
        run.coordinator.drop(LAST)
        reopen(run)
        run.call_roll()
        again = asked(run).question.mu
        assert again == pytest.approx(agreement.budget.mu * spare**0.5)
        model = run.finish()
        assert [release.mu for release in model.statement.releases][1:] == [first, again]
        assert run.silos["silo-00"].status()["charged_mu"] == pytest.approx(agreement.budget.mu)
        side = model.item_side
        assert isinstance(side, ItemWeights)
        # Three of four are left: if the lost one was honest, two shares are all the noise there must be.
        assert side.noise == pytest.approx((0.5 * 3 / 2) ** 0.5 / again)
    run.close()


def test_a_spare_share_pays_for_repeats_before_later_rounds_do(tmp_path: Path) -> None:
    agreement = agree(RATINGS, 4, honest=3, spare=0.4, **signing_keys(4))
    run = Run(tmp_path, RATINGS, agreement)
    run.step()
    run.call_roll()
    first = asked(run).question.mu
    run.step(leave_out=[LAST])
    run.coordinator.drop(LAST)
    run.call_roll()
    assert asked(run).question.mu == pytest.approx(first), "as if nothing had been lost"
    run.close()
