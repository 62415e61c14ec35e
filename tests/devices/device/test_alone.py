"""The device's folder works alone: copied anywhere, with the standard library and nothing else."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from array import array
from pathlib import Path

import pytest

import discreet.devices.device
from discreet.devices.device import answer as answering
from discreet.devices.device.answer import answer
from discreet.devices.device.item_side import DeviceItemSide
from discreet.devices.device.question import Question

FOLDER = Path(discreet.devices.device.__file__).parent
LOADED = """
import sys, importlib, pathlib
sys.path.insert(0, sys.argv[1])
for file in sorted(pathlib.Path(sys.argv[1], "somewhere").glob("*.py")):
    if file.stem != "__main__":
        importlib.import_module("somewhere." + file.stem)
importlib.import_module("somewhere.__main__")
loaded = {name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names) - {"somewhere", "__main__"}
print(sorted(name for name in loaded if not name.startswith("_")))
"""


def test_a_copy_imports_nothing_but_the_standard_library(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "somewhere", ignore=shutil.ignore_patterns("__pycache__"))
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", LOADED, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize("huge", [3e38, 1e20, 1e-38])
@pytest.mark.parametrize("penalty", [1.0, 1e-300])
def test_hostile_item_sides_get_an_answer_whatever_the_ratings(huge: float, penalty: float) -> None:
    rank, items = 3, 4
    factors = array("f", [huge, -huge, huge] * items)
    released = DeviceItemSide(1, items, rank, factors=factors, centre=1e308, factor_penalty=penalty)
    question = Question("films", 2, "factors", 1.0, "ab" * 32, 16, items, rank, (1.0, 5.0))
    for ratings in ({}, {0: 5.0}, {0: 1.0, 1: 5.0, 2: 3.0, 3: 1.0}, {9: 3.0, -1: 2.0, 1: 99.0, 2: math.nan}):
        assert {answer(question, ratings, b"0" * 16, released) for _ in range(40)} <= {0, 1}


def test_the_coin_is_thrown_even_if_the_arithmetic_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> float:
        raise ZeroDivisionError

    monkeypatch.setattr(answering, "truth", broken)
    question = Question("films", 1, "popularity", 5.0, "ab" * 32, 16, 4, 0, (1.0, 5.0))
    bits = [answer(question, {0: 1.0}, b"0" * 16) for _ in range(400)]
    assert 120 < sum(bits) < 280
