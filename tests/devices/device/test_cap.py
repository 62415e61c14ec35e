"""A cap over all tasks, leaving a task, and files of earlier versions."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.devices.device.__main__ import main
from discreet.devices.device.question import Question
from discreet.devices.device.store import DeviceStore
from discreet.devices.device.terms import Terms, TermsInvalid
from discreet.devices.device.transcript import transcript

TERMS = Terms("films", 1.0, 9, 20, (1.0, 5.0), "ab" * 32)
ASKED = Question("films", 1, "popularity", 0.5, "ab" * 32, 16, 20, 0, (1.0, 5.0))


def _never() -> int:
    raise AssertionError("a coin was thrown")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DeviceStore]:
    with DeviceStore(tmp_path / "me.sqlite") as opened:
        yield opened


def test_answers_to_all_tasks_together_stay_within_the_cap(store: DeviceStore) -> None:
    for task in ("films", "songs"):
        store.enrol(replace(TERMS, task=task))
    store.set_cap(1.25)
    assert store.answer(ASKED, lambda: 1).bit == 1
    assert store.answer(replace(ASKED, task="songs"), lambda: 0).bit == 0
    with pytest.raises(TermsInvalid, match=r"1 of the cap of 1\.25 over all"):
        store.answer(replace(ASKED, round=2), _never)
    assert store.answer(replace(ASKED, round=2, epsilon=0.25), lambda: 1).bit == 1  # exactly the rest
    for task in ("films", "songs"):
        with pytest.raises(TermsInvalid, match="cap"):
            store.answer(replace(ASKED, task=task, round=3, epsilon=5e-324), _never)
    assert store.spent_in_all() == Fraction(1.25)
    assert store.answer(ASKED, _never).bit == 1  # what was drawn stays


def test_a_task_is_joined_only_if_all_of_it_fits_beside_the_others(store: DeviceStore) -> None:
    store.set_cap(2.5)
    store.enrol(TERMS)
    store.enrol(replace(TERMS, task="songs"))
    with pytest.raises(TermsInvalid, match="2 is promised already"):
        store.enrol(replace(TERMS, task="books"))
    assert store.tasks() == ["films", "songs"]
    store.enrol(TERMS)  # joined before: nothing new is promised
    store.answer(ASKED, lambda: 1)
    store.leave("films")  # 0.5 of it is spent, and 0.5 free
    store.enrol(replace(TERMS, task="books"))
    with pytest.raises(TermsInvalid, match="promised"):
        store.enrol(replace(TERMS, task="maps", epsilon=1e-9))


def test_a_task_that_was_left_is_answered_no_more(store: DeviceStore) -> None:
    store.enrol(TERMS)
    store.answer(ASKED, lambda: 1)
    store.leave("films")
    with pytest.raises(TermsInvalid, match="has left"):
        store.answer(replace(ASKED, round=2), _never)
    assert store.answer(ASKED, _never).bit == 1  # sent before or not, it is the same bit
    with DeviceStore(store.path) as again:
        assert again.has_left("films")
    with pytest.raises(TermsInvalid, match="not joined"):
        store.leave("songs")


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.inf, math.nan])
def test_a_cap_is_a_number_above_zero(store: DeviceStore, wrong: float) -> None:
    store.set_cap(3.0)
    with pytest.raises(TermsInvalid):
        store.set_cap(wrong)
    assert store.cap() == 3.0


def test_a_cap_can_be_lowered_below_what_is_spent_and_taken_off(store: DeviceStore) -> None:
    store.enrol(TERMS)
    store.answer(ASKED, lambda: 1)
    store.set_cap(0.1)
    with pytest.raises(TermsInvalid, match="cap"):
        store.answer(replace(ASKED, round=2, epsilon=0.01), _never)
    store.set_cap(None)
    assert store.answer(replace(ASKED, round=2, epsilon=0.01), lambda: 0).bit == 0


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "me.sqlite"
    with DeviceStore(path) as store:
        store.enrol(TERMS)
        store.answer(ASKED, lambda: 1)

    def run(*words: str) -> object:
        assert main(["--file", str(path), *words]) == 0
        return json.loads(capsys.readouterr().out)

    assert run("cap", "2.5") == {"cap": 2.5, "spent": 0.5}
    assert run("leave", "films") == {"left": "films", "spent": 0.5}
    shown = run("status")
    assert shown == {
        "ratings": 0,
        "tasks": {"films": {"spent": 0.5, "agreed": 1.0}},
        "spent": 0.5,
        "cap": 2.5,
    }
    with DeviceStore(path) as store:
        assert run("transcript") == transcript(store)
        assert transcript(store)["tasks"][0]["left"]
    assert run("cap", "none") == {"cap": None, "spent": 0.5}
    for wrong in (["cap", "much"], ["cap", "-1"], ["leave", "songs"]):
        assert main(["--file", str(path), *wrong]) == 2
        assert "Error" in capsys.readouterr().err
