"""The coordinator: takes what it awaits and nothing else, sees totals and nothing else, forgets nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from discreet import Catalogue
from discreet.errors import Refused, SettingsInvalid
from discreet.methods.budgeted.private.contributions import BudgetedContributions
from discreet.methods.budgeted.public.constants import BudgetedSettings
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.shared.messages import AnswerMessage
from tests.silos.worlds import Run, agree, asked, dump, world

RATINGS = world(users=300)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    made = Run(tmp_path, RATINGS, agree(RATINGS, 3))
    yield made
    made.close()


def answer(run: Run, name: str) -> AnswerMessage:
    question = run.coordinator.question()
    assert question is not None
    return AnswerMessage.decode(run.silos[name].answer(question), run.agreement)


def refused(run: Run, name: str, message: AnswerMessage | bytes, words: str) -> None:
    before, status = dump(run.coordinator), run.coordinator.status()
    with pytest.raises(Refused, match=words):
        run.coordinator.receive(name, message if isinstance(message, bytes) else message.encode())
    assert dump(run.coordinator) == before
    assert run.coordinator.status() == status


def test_anything_but_the_awaited_answer_is_refused_with_nothing_changed(run: Run) -> None:
    run.step()
    late = answer(run, "silo-01")
    for _ in range(2):
        run.step()
    right = answer(run, "silo-01")
    for change, words in [
        ({"run": "f" * 32}, "another run"),
        ({"round": right.round + 1}, "is under way"),
        ({"round": right.round + 1, "attempt": 3}, "is under way"),
        ({"attempt": 1}, "is under way"),
        ({"question": "0" * 64}, "another question"),
        ({"silo": "silo-00"}, "in the name of"),
        ({"masked": right.masked[:-1]}, "wrong length"),
        ({"masked": np.zeros(0, dtype=np.uint64)}, "wrong length"),
        ({"masked": np.zeros(len(right.masked) + 1, dtype=np.uint64)}, "wrong length"),
    ]:
        refused(run, "silo-01", replace(right, **change), words)
    refused(run, "stranger", replace(right, silo="stranger"), "not in the agreement")
    refused(run, "silo-01", b"", "not a message")
    refused(run, "silo-01", right.encode()[:-1], "do not match")
    refused(run, "silo-01", right.encode() + b"\0", "do not match")
    refused(run, "silo-01", bytes(run.agreement.most_bytes + 1), "larger than any")
    assert run.coordinator.receive("silo-01", late.encode())["repeated"], "an answer that was taken is known"
    assert not run.coordinator.receive("silo-01", right.encode())["repeated"]
    before = dump(run.coordinator)
    assert run.coordinator.receive("silo-01", right.encode())["repeated"]
    assert dump(run.coordinator) == before


def test_the_run_over_nothing_more_is_taken(run: Run) -> None:
    run.step()
    message = answer(run, "silo-00")
    model = run.finish()
    refused(run, "silo-00", replace(message, round=9), "over")
    assert run.coordinator.question() is None
    with pytest.raises(Refused, match="catalogue"):
        run.coordinator.model(Catalogue(["a", "b"]))
    assert run.coordinator.model(model.catalogue).statement == model.statement, (
        "the model can be asked for again"
    )


@pytest.mark.parametrize("noise", ["shares", "server"])
def test_reopened_at_any_stage_the_run_ends_the_same(tmp_path: Path, noise: str) -> None:
    """Every party is closed and opened again between any two steps; bytes and model are those of a run without."""
    agreement = agree(RATINGS, 3, noise=noise, settings=BudgetedSettings(rank=2, rounds=1))
    calm = Run(tmp_path / "calm", RATINGS, agreement)
    wanted = calm.finish()
    wild = Run(tmp_path / "wild", RATINGS, agreement)

    def reopen(name: str | None) -> None:
        if name is None:
            wild.coordinator.close()
            wild.coordinator = wild.open_coordinator()
        else:
            wild.silos[name].close()
            wild.silos[name] = wild.open_silo(name)

    while (question := wild.coordinator.question()) is not None:
        for name in agreement.roster:
            body = wild.silos[name].answer(question)
            reopen(name)
            assert wild.silos[name].answer(question) == body
            wild.coordinator.receive(name, body)
            reopen(None)
            assert wild.coordinator.receive(name, body)["repeated"]
    assert wild.catalogue is not None
    model = wild.coordinator.model(wild.catalogue)
    assert model.item_side.factors.tobytes() == wanted.item_side.factors.tobytes()
    assert model.item_side.offsets.tobytes() == wanted.item_side.offsets.tobytes()
    assert model.statement == wanted.statement
    for name in agreement.roster:
        assert dump(wild.silos[name]) == dump(calm.silos[name])
    assert dump(wild.coordinator) == dump(calm.coordinator)
    calm.close()
    wild.close()


def test_noise_of_a_fixed_key_is_not_forgotten(tmp_path: Path) -> None:
    """Opened again without the key, a server still knows which of its releases were not private."""
    run = Run(tmp_path, RATINGS, agree(RATINGS, 3, noise="server"), fixed=False)
    run.coordinator.close()
    run.fixed = True
    run.coordinator = run.open_coordinator()
    run.step()
    run.coordinator.question()
    run.coordinator.close()
    run.fixed = False
    run.coordinator = run.open_coordinator()
    statement = run.finish().statement
    assert not statement.private
    assert statement.fixed_noise_key
    run.close()


def test_a_silo_with_the_wrong_mask_ends_the_run_in_words(run: Run) -> None:
    """Masks that do not cancel leave noise of 64 bits, which no sum of users can be."""
    message = answer(run, "silo-02")
    wrong = replace(message, masked=message.masked * np.uint64(3))
    for name in ("silo-00", "silo-01"):
        run.coordinator.receive(name, answer(run, name).encode())
    run.coordinator.receive("silo-02", wrong.encode())
    assert run.coordinator.status()["state"] == "failed"
    run.coordinator.close()
    run.coordinator = run.open_coordinator()
    with pytest.raises(Refused, match="do not add up"):
        run.coordinator.question()
    assert run.coordinator.status()["state"] == "failed"


def _bytes_uniform(vector: np.ndarray) -> float:
    table = vector.view(np.uint8).reshape(-1, 8)
    return 8.0 * min(
        float(stats.chisquare(np.bincount(table[:, byte], minlength=256)).pvalue) for byte in range(8)
    )


@pytest.mark.parametrize("noise", ["shares", "server"])
def test_a_server_that_records_everything_learns_totals_and_nothing_else(tmp_path: Path, noise: str) -> None:
    """All that arrives, singly and in any incomplete sum, is uniform modulo 2^64; the full sum is the exact total."""
    ratings = world(users=400, items=400)
    run = Run(tmp_path, ratings, agree(ratings, 3, noise=noise, honest=2))
    seen: dict[str, list[np.ndarray]] = {name: [] for name in run.silos}
    for _ in range(5):
        message = asked(run)
        for name in run.silos:
            seen[name].append(answer(run, name).masked)
        if noise == "server":
            total = np.sum([vectors[-1] for vectors in seen.values()], axis=0, dtype=np.uint64)
            exact = [
                block.total().ravel()
                for block in BudgetedContributions(ratings).contributions(message.question)
            ]
            assert np.array_equal(total.view(np.int64), np.concatenate(exact))
        run.step()
    one, two, three = (np.concatenate(vectors) for vectors in seen.values())
    for vector in (one, two, three, one + two, one + three, two + three, one - two):
        assert _bytes_uniform(vector) > 1e-9
    assert _bytes_uniform(one + two + three) < 1e-9
    run.close()


def test_silos_that_were_asked_different_things_stay_masked(tmp_path: Path) -> None:
    """A server that tells two silos two stories gets no sum at all, not even of what they have in common."""
    ratings = world(users=300, items=400)
    run = Run(tmp_path, ratings, agree(ratings, 2))
    run.step()
    message = asked(run)
    other = replace(message, question=replace(message.question, mu=message.question.mu * (1.0 - 1e-12)))
    told = {"silo-00": message, "silo-01": other}
    vectors = [
        AnswerMessage.decode(run.silos[name].answer(story.encode()), run.agreement).masked
        for name, story in told.items()
    ]
    assert _bytes_uniform(vectors[0] + vectors[1]) > 1e-9
    run.close()


def test_a_store_belongs_to_one_agreement(tmp_path: Path) -> None:
    Coordinator(tmp_path / "server.db", agree(RATINGS, 2)).close()
    with pytest.raises(SettingsInvalid, match="another run"):
        Coordinator(tmp_path / "server.db", agree(RATINGS, 2))
