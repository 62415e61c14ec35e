"""One device's answer: exact odds, and no ratings that change them by more than e^epsilon."""

from __future__ import annotations

import math
import random
import shutil
import subprocess
import sys
from array import array
from collections import Counter
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from discreet.devices.device import answer as device
from discreet.devices.device.item_side import DeviceItemSide, fold_in, residuals
from discreet.devices.device.question import QuestionInvalid
from discreet.privacy.local.rotated import truths
from tests.devices.support.questions import crowd, pseudonyms, question, released, rows

EPSILONS = (5e-324, 3e-15, 0.1, 1.0, math.log(3.0), 13.7, 20.0)


def chance_of_one(value: float, epsilon: float) -> Fraction:
    """Exactly, over all 2^64 words: the answer is a function of the lowest bit and of the rest against a threshold."""
    flips = Fraction(device.flip_threshold(epsilon), 1 << 63)
    low_word, high_word = 0, (1 << 64) - 2
    total = Fraction(0)
    for tie in (0, 1):
        flipped = device.respond(value, epsilon, low_word | tie)
        kept = device.respond(value, epsilon, high_word | tie)
        total += (flips * flipped + (1 - flips) * kept) / 2
    return total


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_ratio_is_at_most_e_to_the_epsilon_and_nearly_that(epsilon: float) -> None:
    getcontext().prec = 60
    bound = Decimal(epsilon).exp()
    chances = [chance_of_one(value, epsilon) for value in (-3.0, -0.0, 0.0, 1e-300, 2.0, math.inf, math.nan)]
    outcomes = [(one, 1 - one) for one in chances]
    worst = max(a[y] / b[y] for a in outcomes for b in outcomes for y in (0, 1))
    ratio = Decimal(worst.numerator) / Decimal(worst.denominator)
    assert ratio <= bound
    assert ratio >= Decimal("0.99") * bound


def test_the_threshold_is_where_the_answer_turns() -> None:
    threshold = device.flip_threshold(1.0)
    assert device.respond(1.0, 1.0, (threshold - 1) << 1) == 0
    assert device.respond(1.0, 1.0, threshold << 1) == 1


def test_every_transcript_of_two_rounds_over_all_inputs_and_places() -> None:
    """All ratings of a catalogue of five (absent, 1 or 5 each), all pairs of them, every rotation and coordinate."""
    asked = [
        question("popularity", round=1, items=5, rotations=4, epsilon=0.7, seed="a5" * 32),
        question("offsets", round=2, items=5, rotations=4, epsilon=0.4, seed="a5" * 32),
    ]
    odds = [{sign: float(chance_of_one(sign, one.epsilon)) for sign in (-1.0, 0.0, 1.0)} for one in asked]
    choices = product((0.0, 1.0, 5.0), repeat=5)
    histories = [{item: value for item, value in enumerate(choice) if value} for choice in choices]
    bound = math.exp(1.1)
    places: Counter[tuple[int, int]] = Counter()
    worst_at = np.zeros((2, 8))
    for name in (number.to_bytes(16, "big") for number in range(300)):
        place = asked[0].place(name)
        places[place] += 1
        if places[place] > 2:
            continue
        chances = []
        for history in histories:
            values = (device.truth(one, list(history), list(history.values()), name) for one in asked)
            first, second = (odd[float(np.sign(value))] for odd, value in zip(odds, values, strict=True))
            chances.append([a * b for a in (first, 1 - first) for b in (second, 1 - second)])
        table = np.array(chances)
        worst = float((table.max(axis=0) / table.min(axis=0)).max())
        assert worst <= bound * (1 + 1e-12)
        for order, one in enumerate(asked):
            coordinate = one.place(name)[1]
            worst_at[order, coordinate] = max(worst, worst_at[order, coordinate])
    assert len(places) == 4 * 8
    assert (worst_at >= 0.99 * bound).all()


@pytest.mark.parametrize("kind", ["popularity", "offsets", "factors"])
def test_device_and_arrays_agree_to_the_bit(kind: str) -> None:
    rng = np.random.default_rng(3)
    asked = question(kind, items=300, rank=3 if kind == "factors" else 0)  # type: ignore[arg-type]
    side = released(300, 3, rng)
    histories = crowd(200, 300, 60, rng)
    ids = pseudonyms(200, rng)
    many = truths(asked, rows(histories), ids, side)
    one = [
        device.truth(asked, list(history), list(history.values()), name.tobytes(), side)
        for history, name in zip(histories, ids, strict=True)
    ]
    assert (many == np.array(one)).all()
    assert len(np.unique(many)) > 20


def test_equal_ratings_and_no_ratings_say_nothing_about_offsets() -> None:
    asked = question("offsets")
    for history in ({}, {3: 5.0}, dict.fromkeys(range(0, 49, 7), 4.0), dict.fromkeys(range(11), 1.0)):
        assert device.truth(asked, list(history), list(history.values()), bytes(16)) == 0.0


def test_a_device_does_not_answer_what_it_is_not_asked() -> None:
    name = bytes(16)
    index = next(i for i in range(4) if not question("popularity", participants=(i, 4)).takes_part(name))
    with pytest.raises(QuestionInvalid, match="other devices"):
        device.answer(question("popularity", participants=(index, 4)), {1: 3.0}, name)


@pytest.mark.parametrize("ratings", [{50: 3.0}, {-1: 3.0}, {0: 5.5}, {0: math.nan}])
def test_impossible_ratings_do_not_count_and_cannot_be_noticed(ratings: dict[int, float]) -> None:
    asked = question("popularity", epsilon=20.0)
    bits = [device.answer(asked, ratings, bytes(16)) for _ in range(200)]
    assert 50 < sum(bits) < 150  # as without ratings: a tie
    both = {**ratings, 7: 3.0}
    fixed = device.answer(asked, both, bytes(16), randbits=lambda bits: (1 << bits) - 1)
    assert fixed == int(device.truth(asked, [7], [3.0], bytes(16)) > 0.0)


@pytest.mark.parametrize("kind", ["popularity", "offsets", "factors"])
def test_no_item_side_makes_some_ratings_fail_and_not_others(kind: str) -> None:
    """Factors that cancel to a pivot of exactly zero: a division by zero for whoever rated these items."""
    items, rank = 6, 2
    asked = question(kind, items=items, rank=rank if kind == "factors" else 0, epsilon=20.0)  # type: ignore[arg-type]
    factors = array("f", [1e19, 1e19] * 3 + [1.0, 2.0] * 3)
    side = DeviceItemSide(1, items, rank, factors=factors, factor_penalty=1e-300)
    failed = 0
    for choice in product((None, 1.0, 5.0), repeat=items):
        history = {item: value for item, value in enumerate(choice) if value is not None}
        try:
            device.truth(asked, list(history), list(history.values()), bytes(16), side)
        except ArithmeticError:
            failed += 1
        assert device.answer(asked, history, bytes(16), side) in (0, 1)
    assert (failed > 0) == (kind == "factors")
    assert device.answer(asked, {0: None, 1: 3.0}, bytes(16), side) in (0, 1)  # type: ignore[dict-item]


def test_refusals_do_not_depend_on_ratings() -> None:
    few = DeviceItemSide(1, 49, 2, factors=array("f", [0.1] * 98))
    for wrong in (None, DeviceItemSide(1, 50), few):
        for history in ({}, {1: 3.0}, {1: 5.0, 2: 1.0}, {99: 9.0}):
            with pytest.raises(QuestionInvalid):
                device.answer(question("factors"), history, bytes(16), wrong)


def test_answers_use_the_coin_they_are_given() -> None:
    asked = question("popularity", epsilon=1.0)
    history = {0: 3.0}
    kept = device.answer(asked, history, bytes(16), randbits=lambda bits: (1 << bits) - 1)
    flipped = device.answer(asked, history, bytes(16), randbits=lambda bits: 0)
    assert {kept, flipped} == {0, 1}
    fresh = [device.answer(asked, history, bytes(16)) for _ in range(400)]
    assert sum(bit == kept for bit in fresh) == pytest.approx(400 / (1 + math.exp(-1.0)), abs=5 * 9)


def test_no_seed_decides_a_coin() -> None:
    """The system's entropy is behind it: a program that seeds its random numbers gets other answers each time."""
    asked, seen = question("popularity", epsilon=0.1), set()
    for _ in range(3):
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002 (whatever a program may have seeded)
        seen.add(tuple(device.answer(asked, {0: 3.0}, bytes(16)) for _ in range(100)))
    assert len(seen) == 3


def test_own_vector_solves_the_ridge_problem() -> None:
    rng = np.random.default_rng(5)
    side = released(40, 3, rng)
    items = [1, 4, 9, 33]
    values = [5.0, 1.0, 2.5, 4.0]
    design = np.column_stack([np.ones(4), np.array(side.factors).reshape(40, 3)[items]])
    target = np.array(values) - 3.0 - np.array(side.offsets)[items]
    wanted = np.linalg.solve(design.T @ design + np.diag([0.0, 0.7, 0.7, 0.7]), design.T @ target)
    own = fold_in(items, values, side)
    np.testing.assert_allclose(own, wanted, atol=1e-12)
    np.testing.assert_allclose(residuals(items, values, side, own), target - design @ wanted, atol=1e-12)


FOLDER = Path(device.__file__).parent
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


@pytest.mark.parametrize(("huge", "penalty"), [(3e38, 1e-300), (1e-38, 1e-300), (1e20, 1.0)])
def test_hostile_item_sides_get_an_answer_whatever_the_ratings(huge: float, penalty: float) -> None:
    rank, items = 3, 4
    factors = array("f", [huge, -huge, huge] * items)
    side = DeviceItemSide(1, items, rank, factors=factors, centre=1e308, factor_penalty=penalty)
    asked = question("factors", round=2, items=items, rank=rank)
    for ratings in ({}, {0: 5.0}, {0: 1.0, 1: 5.0, 2: 3.0, 3: 1.0}, {9: 3.0, -1: 2.0, 1: 99.0, 2: math.nan}):
        assert {device.answer(asked, ratings, b"0" * 16, side) for _ in range(40)} <= {0, 1}


def test_the_coin_is_thrown_even_if_the_arithmetic_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> float:
        raise ZeroDivisionError

    monkeypatch.setattr(device, "truth", broken)
    asked = question("popularity", epsilon=5.0)
    bits = [device.answer(asked, {0: 1.0}, b"0" * 16) for _ in range(400)]
    assert 120 < sum(bits) < 280
