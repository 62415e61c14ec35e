"""The device's file: one answer a round, charged before it is known, within what was agreed and the cap over all."""

from __future__ import annotations

import json
import math
import secrets
import stat
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.devices.device.__main__ import main
from discreet.devices.device.question import Question, Terms, TermsInvalid
from discreet.devices.device.store import DeviceStore, StoreInvalid

DIGEST = "ab" * 32
TERMS = Terms("films", 1.0, 3, 20, (1.0, 5.0), DIGEST)
ASKED = Question("films", 1, "popularity", 0.4, "ab" * 32, 16, 20, 0, (1.0, 5.0))


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[DeviceStore]:
    with DeviceStore(tmp_path / "me.sqlite") as opened:
        yield opened


@pytest.fixture
def store(fresh: DeviceStore) -> DeviceStore:
    fresh.enrol(TERMS)
    return fresh


def _never() -> int:
    raise AssertionError("a second coin was thrown")


def test_an_answer_is_drawn_once(store: DeviceStore) -> None:
    assert store.answer(ASKED, lambda: 1) == (1, False)
    assert store.answer(ASKED, _never) == (1, False)
    store.mark_sent("films", 1)
    assert store.answer(ASKED, _never) == (1, True)
    with DeviceStore(store.path) as again:
        assert again.answer(ASKED, _never) == (1, True)
    assert store.spent("films") == Fraction(0.4)


@pytest.mark.parametrize(
    "change",
    [{"seed": "cd" * 32}, {"epsilon": 0.39}, {"participants": (0, 2)}],
)
def test_another_question_for_the_same_round_is_refused(
    store: DeviceStore, change: dict[str, object]
) -> None:
    store.answer(ASKED, lambda: 1)
    with pytest.raises(TermsInvalid, match="another question"):
        store.answer(replace(ASKED, **change), _never)
    assert store.spent("films") == Fraction(0.4)


@pytest.mark.parametrize(
    "change", [{"round": 4}, {"items": 21}, {"range": (0.0, 5.0)}, {"epsilon": 1.1}, {"epsilon": 20.0}]
)
def test_questions_outside_of_the_terms_are_refused_and_cost_nothing(
    store: DeviceStore, change: dict[str, object]
) -> None:
    with pytest.raises(TermsInvalid):
        store.answer(replace(ASKED, **change), _never)
    assert store.spent("films") == 0


def test_the_budget_is_exact(store: DeviceStore) -> None:
    third = replace(ASKED, epsilon=1.0 / 3.0)
    for number in (1, 2, 3):
        store.answer(replace(third, round=number), lambda: 0)
    assert store.spent("films") == 3 * Fraction(1.0 / 3.0) < 1


def test_a_hair_above_the_budget_is_refused(store: DeviceStore) -> None:
    half = 0.5000000000000001
    store.answer(replace(ASKED, epsilon=half), lambda: 0)
    with pytest.raises(TermsInvalid, match="are left"):
        store.answer(replace(ASKED, epsilon=half, round=2), _never)
    store.answer(replace(ASKED, epsilon=0.4999999999999999, round=2), lambda: 1)


def test_rounds_for_other_devices_cost_nothing(store: DeviceStore) -> None:
    device = store.device("films")
    index = next(index for index in range(4) if replace(ASKED, participants=(index, 4)).takes_part(device))
    for number, asked in enumerate([(index + 1) % 4, (index + 2) % 4], start=1):
        question = replace(ASKED, round=number, participants=(asked, 4), epsilon=1.0)
        assert store.answer(question, _never) == (None, False)
    assert store.spent("films") == 0
    assert store.answer(replace(ASKED, round=3, participants=(index, 4), epsilon=1.0), lambda: 0).bit == 0


def test_a_draw_that_fails_charges_nothing(store: DeviceStore) -> None:
    def broken() -> int:
        raise KeyError

    with pytest.raises(KeyError):
        store.answer(ASKED, broken)
    assert store.spent("films") == 0
    assert store.answer(ASKED, lambda: 1).bit == 1


def test_terms_cannot_change_and_pseudonyms_differ_by_task(store: DeviceStore) -> None:
    device = store.device("films")
    assert store.enrol(TERMS) == device
    with pytest.raises(TermsInvalid, match="other terms"):
        store.enrol(replace(TERMS, epsilon=2.0))
    assert store.terms("films") == TERMS
    assert store.enrol(replace(TERMS, task="songs")) != device
    with pytest.raises(TermsInvalid, match="has not joined"):
        store.answer(replace(ASKED, task="books"), _never)


def test_a_pseudonym_is_drawn_from_the_systems_entropy_and_from_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever could work it out from the task or the device could tell whose answers are whose."""

    def joined() -> bytes:
        path = tmp_path / "the same.sqlite"
        with DeviceStore(path) as opened:
            device = opened.enrol(TERMS)
        path.unlink()
        return device

    assert len({joined() for _ in range(20)}) == 20
    monkeypatch.setattr(secrets, "token_bytes", lambda size: bytes(range(size)))
    assert joined() == bytes(range(16))


def test_what_is_committed_is_on_the_disk_before_it_is_known(store: DeviceStore) -> None:
    """3 is EXTRA: file, journal and folder are synced, so that no power cut brings an answered question back."""
    assert store._connection.execute("PRAGMA synchronous").fetchone() == (3,)
    assert store._connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_terms_are_read_strictly() -> None:
    fields = json.loads(TERMS.to_json())
    wrong = [
        {"x": 1},
        {"epsilon": math.nan},
        {"epsilon": 1e9},
        {"rounds": 1.5},
        {"range": [2, 1]},
        {"task": "A"},
    ]
    wrong += [{"catalogue": "ab"}, {"catalogue": "AB" * 32}, {"catalogue": None}]
    changed = [json.dumps(fields | change) for change in wrong]
    for text in (*changed, "", "[]", "{}", TERMS.to_json()[:-1] + ',"items":20}'):
        with pytest.raises(TermsInvalid):
            Terms.from_json(text)
    assert Terms.from_json(TERMS.to_json()) == TERMS


def test_one_file_numbers_its_ratings_by_one_list(store: DeviceStore) -> None:
    store.pin_catalogue(DIGEST)
    with pytest.raises(TermsInvalid, match="another item list"):
        store.pin_catalogue("cd" * 32)
    with pytest.raises(TermsInvalid, match="another item list"):
        store.enrol(replace(TERMS, task="songs", catalogue="cd" * 32))
    assert store.tasks() == ["films"]


def test_the_file_is_its_owners_alone(store: DeviceStore, tmp_path: Path) -> None:
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    (tmp_path / "text").write_text("something else entirely" * 100)
    with pytest.raises(StoreInvalid):
        DeviceStore(tmp_path / "text")


LONG = Terms("films", 1.0, 9, 20, (1.0, 5.0), DIGEST)
HALF = replace(ASKED, epsilon=0.5)


def test_answers_to_all_tasks_together_stay_within_the_cap(fresh: DeviceStore) -> None:
    for task in ("films", "songs"):
        fresh.enrol(replace(LONG, task=task))
    fresh.set_cap(1.25)
    assert fresh.answer(HALF, lambda: 1).bit == 1
    assert fresh.answer(replace(HALF, task="songs"), lambda: 0).bit == 0
    with pytest.raises(TermsInvalid, match=r"1 of the cap of 1\.25 over all"):
        fresh.answer(replace(HALF, round=2), _never)
    assert fresh.answer(replace(HALF, round=2, epsilon=0.25), lambda: 1).bit == 1  # exactly the rest
    for task in ("films", "songs"):
        with pytest.raises(TermsInvalid, match="cap"):
            fresh.answer(replace(HALF, task=task, round=3, epsilon=5e-324), _never)
    assert fresh.spent_in_all() == Fraction(1.25)
    assert fresh.answer(HALF, _never).bit == 1  # what was drawn stays


def test_a_task_is_joined_only_if_all_of_it_fits_beside_the_others(fresh: DeviceStore) -> None:
    fresh.set_cap(2.5)
    fresh.enrol(LONG)
    fresh.enrol(replace(LONG, task="songs"))
    with pytest.raises(TermsInvalid, match="2 is promised already"):
        fresh.enrol(replace(LONG, task="books"))
    assert fresh.tasks() == ["films", "songs"]
    fresh.enrol(LONG)  # joined before: nothing new is promised
    fresh.answer(HALF, lambda: 1)
    fresh.leave("films")  # 0.5 of it is spent, and 0.5 free
    fresh.enrol(replace(LONG, task="books"))
    with pytest.raises(TermsInvalid, match="promised"):
        fresh.enrol(replace(LONG, task="maps", epsilon=1e-9))


def test_a_task_that_was_left_is_answered_no_more(fresh: DeviceStore) -> None:
    fresh.enrol(LONG)
    fresh.answer(HALF, lambda: 1)
    fresh.leave("films")
    with pytest.raises(TermsInvalid, match="has left"):
        fresh.answer(replace(HALF, round=2), _never)
    assert fresh.answer(HALF, _never).bit == 1  # sent before or not, it is the same bit
    with DeviceStore(fresh.path) as again:
        assert again.transcript()["tasks"][0]["left"]
    with pytest.raises(TermsInvalid, match="not joined"):
        fresh.leave("songs")


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.inf, math.nan])
def test_a_cap_is_a_number_above_zero(fresh: DeviceStore, wrong: float) -> None:
    fresh.set_cap(3.0)
    with pytest.raises(TermsInvalid):
        fresh.set_cap(wrong)
    assert fresh.cap() == 3.0


def test_a_cap_can_be_lowered_below_what_is_spent_and_taken_off(fresh: DeviceStore) -> None:
    fresh.enrol(LONG)
    fresh.answer(HALF, lambda: 1)
    fresh.set_cap(0.1)
    with pytest.raises(TermsInvalid, match="cap"):
        fresh.answer(replace(HALF, round=2, epsilon=0.01), _never)
    fresh.set_cap(None)
    assert fresh.answer(replace(HALF, round=2, epsilon=0.01), lambda: 0).bit == 0


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "me.sqlite"
    with DeviceStore(path) as store:
        store.enrol(LONG)
        store.answer(HALF, lambda: 1)

    def run(*words: str) -> object:
        assert main(["--file", str(path), *words]) == 0
        return json.loads(capsys.readouterr().out)

    assert run("cap", "2.5") == {"cap": 2.5, "spent": 0.5}
    assert run("leave", "films") == {"left": "films", "spent": 0.5}
    assert (run("transcript")["spent"], run("transcript")["cap"]) == (0.5, 2.5)  # type: ignore[index]
    with DeviceStore(path) as store:
        assert run("transcript") == store.transcript()
        assert store.transcript()["tasks"][0]["left"]
    assert run("cap", "none") == {"cap": None, "spent": 0.5}
    for wrong in (["cap", "much"], ["cap", "-1"], ["leave", "songs"]):
        assert main(["--file", str(path), *wrong]) == 2
        assert "Error" in capsys.readouterr().err
