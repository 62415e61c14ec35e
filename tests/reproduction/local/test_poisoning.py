"""One dishonest report moves the estimate by what the formula says, and many by that many times as much."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.devices.device.question import Question
from discreet.devices.estimator import Estimator
from discreet.errors import SettingsInvalid
from discreet.privacy.local.rotation import packed_signs, places
from reproduction.local.poisoning import influence, poisoning_curve


def _question(epsilon: float, items: int = 37) -> Question:
    return Question("films", 1, "popularity", epsilon, "5a" * 32, 16, items, 0, (1.0, 5.0))


def _estimate(question: Question, ids: np.ndarray, bits: np.ndarray) -> np.ndarray:
    estimator = Estimator(question)
    estimator.add(ids, bits)
    return estimator.estimate()


def _sign(question: Question, ids: np.ndarray, target: int) -> np.ndarray:
    """Sign with which each device's answer enters the estimate of one coordinate."""
    rotation, coordinate = places(question, ids)
    signs = np.array([np.unpackbits(row, count=question.dimension)[target] for row in packed_signs(question)])
    parity = np.array([int(c & target).bit_count() & 1 for c in coordinate.tolist()])
    return 1 - 2 * (signs[rotation] ^ parity).astype(int)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("answers", [1, 2, 997])
def test_one_lie_moves_every_coordinate_by_the_formula(epsilon: float, answers: int) -> None:
    rng = np.random.default_rng(answers)
    question = _question(epsilon)
    ids = rng.integers(0, 256, (answers, 16), dtype=np.uint8)
    bits = rng.integers(0, 2, answers)
    honest = _estimate(question, ids, bits)
    for liar in rng.integers(0, answers, 5):
        lied = bits.copy()
        lied[liar] ^= 1
        moved = np.abs(_estimate(question, ids, lied) - honest)
        np.testing.assert_allclose(moved, influence(epsilon, answers), rtol=1e-9)


def test_many_liars_who_agree_move_one_coordinate_by_the_curve() -> None:
    rng = np.random.default_rng(4)
    question, answers, target = _question(1.0), 40_000, 11
    ids = rng.integers(0, 256, (answers, 16), dtype=np.uint8)
    bits = rng.integers(0, 2, answers)
    clean = _estimate(question, ids, bits)[target]
    towards = (_sign(question, ids, target) > 0).astype(int)
    for share, shift, noise, ratio in poisoning_curve(1.0, answers):
        liars = int(share * answers)
        lied = np.concatenate([towards[:liars], bits[liars:]])
        moved = _estimate(question, ids, lied)[target] - clean
        assert moved == pytest.approx(shift, abs=5.0 * noise * np.sqrt(share))
        assert ratio == pytest.approx(shift / noise)
    assert poisoning_curve(1.0, answers)[2].ratio == pytest.approx(10.0)


def test_impossible_shares_are_refused() -> None:
    with pytest.raises(SettingsInvalid):
        poisoning_curve(1.0, 100, [1.5])
    with pytest.raises(SettingsInvalid):
        influence(1.0, 0)
