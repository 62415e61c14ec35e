"""Some spoilt inputs of all kinds (``python -m tests.hostile`` tries more). A failure names what repeats it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from discreet.errors import DiscreetError
from tests.hostile import attack as attacks
from tests.hostile.kind import Kind, Outcome
from tests.hostile.kinds import KINDS

SEED, COUNT = 13, 60

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def test_what_is_spoilt_is_refused_or_read_as_what_it_is(tmp_path: Path) -> None:
    out = tmp_path / "fuzz.json"
    child = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.hostile",
            "--seed",
            str(SEED),
            "--count",
            str(COUNT),
            "--out",
            str(out),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert child.returncode == 0, child.stderr[-5000:]
    record = json.loads(out.read_text())
    assert record["inputs"] == COUNT * len(KINDS)
    for name, entry in record["kinds"].items():
        assert entry["refused"] > entry["tried"] // 2, f"{name}: what was spoilt was hardly spoilt"
        assert entry["other"] == 0 or KINDS[name].may_differ


class Careless(Kind):
    """A reader with a bug of each sort."""

    may_differ = False

    def attempt(self, draw: Random) -> Outcome:
        bug = draw.randrange(4)
        if bug == 0:
            raise DiscreetError("this is how it should be")
        if bug == 1:
            raise KeyError("a traceback")
        if bug == 2:
            bytearray(1 << 50)  # no machine has it
        return "other"


def test_the_harness_sees_tracebacks_and_what_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "careless", Careless)
    found = attacks.attack("careless", SEED, range(40))
    assert found.outcomes["refused"] + found.outcomes["failed"] == found.tried == 40
    words = " ".join(found.failures)
    assert len(found.failures) == 3
    assert "KeyError" in words
    assert "MemoryError" in words
    assert "something altered was accepted" in words


def test_a_number_gives_the_same_input_again() -> None:
    one = attacks.attack("damaged models", SEED, range(100, 140))
    other = attacks.attack("damaged models", SEED, range(100, 140))
    assert one.outcomes == other.outcomes


def test_without_the_digests_an_altered_model_would_be_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack has teeth: a loader that does not compare digests fails it."""
    monkeypatch.setattr("discreet.model.storage._verified_bytes", lambda path, digest: path.read_bytes())
    found = attacks.attack("damaged models", SEED, range(300))
    assert "something altered was accepted" in " ".join(found.failures)
