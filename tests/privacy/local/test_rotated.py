"""The mechanism on many devices, and the estimate: mean, variance, bias, and exact sums."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from discreet.data.synthetic import market
from discreet.devices.device.answer import respond as respond_once
from discreet.devices.estimator import Estimator, gain, noise_variance
from discreet.errors import SettingsInvalid
from discreet.privacy.local.rotated import Coin, answers, participants, places, respond_to_sign, truths
from tests.devices.support.questions import pseudonyms, question, released, rows


def test_places_and_groups_are_those_of_the_devices() -> None:
    asked = question("popularity", items=1000, participants=(1, 3))
    ids = pseudonyms(50, np.random.default_rng(0))
    rotation, coordinate = places(asked, ids)
    assert [asked.place(one.tobytes()) for one in ids] == list(zip(rotation, coordinate, strict=True))
    assert [asked.takes_part(one.tobytes()) for one in ids] == participants(asked, ids).tolist()


def test_places_are_uniform() -> None:
    asked = question("popularity", items=8, rotations=4)
    rotation, coordinate = places(asked, pseudonyms(32_000, np.random.default_rng(1)))
    cells = np.bincount(rotation * 8 + coordinate, minlength=32)
    assert ((cells - 1000) ** 2 / 1000).sum() < 80


def test_responses_agree_for_the_same_coin() -> None:
    values = np.array([-2.0, 0.0, 0.0, 3.0, -0.0, 1e-9] * 50)
    for epsilon in (0.1, 1.0, 20.0):
        words = Coin.fixed_key_not_private(4).words(len(values))
        words[:4] = [0, 1, 2**64 - 1, 2**64 - 2]
        once = [
            respond_once(float(value), epsilon, int(word)) for value, word in zip(values, words, strict=True)
        ]
        assert respond_to_sign(values, epsilon, words).tolist() == once


def test_one_dishonest_report_moves_every_coordinate_by_the_formula() -> None:
    asked = question("popularity", epsilon=0.5)
    ids = pseudonyms(40, np.random.default_rng(0))
    bits = np.zeros(40, dtype=np.uint8)
    honest, dishonest = Estimator(asked), Estimator(asked)
    honest.add(ids, bits)
    bits[7] = 1
    dishonest.add(ids, bits)
    moved = np.abs(dishonest.estimate() - honest.estimate())
    np.testing.assert_allclose(moved, 2 * gain(0.5) / 40, rtol=1e-12)


def exact_mean(vector: list[float], coordinate: int) -> float:
    """E[s_j sign(s . x)] over all independent signs, a tie counting nothing."""
    total = 0.0
    for signs in product((-1.0, 1.0), repeat=len(vector)):
        total += signs[coordinate] * np.sign(sum(s * x for s, x in zip(signs, vector, strict=True)))
    return total / 2.0 ** len(vector)


@pytest.mark.parametrize("epsilon", [0.8, 3.0])
def test_mean_and_variance_are_those_of_the_proof_note(epsilon: float) -> None:
    """Many devices with the same few ratings: the estimate goes to the exact distorted vector, not to the vector."""
    users, items = 60_000, 64
    history = {3: 5.0, 17: 1.0, 40: 2.0, 41: 4.0, 63: 5.0}
    asked = question("offsets", items=items, epsilon=epsilon, rotations=256)
    rng = np.random.default_rng(8)
    ids = pseudonyms(users, rng)
    estimator = Estimator(asked)
    estimator.add(ids, answers(asked, rows([history] * users), ids))
    left = [value - 3.4 for value in history.values()]
    wanted = np.zeros(items)
    wanted[list(history)] = [math.sqrt(math.pi / 2) * exact_mean(left, j) for j in range(5)]
    error = estimator.estimate() - wanted
    leak = 0.57 / (64 * 256)
    variance = noise_variance(epsilon, users)
    assert np.abs(error).max() < 5 * math.sqrt(variance + leak)
    assert 0.6 < (error**2).mean() / (variance + leak) < 1.7


@pytest.mark.parametrize(
    ("count", "factor"), [(1, 1.253), (2, 0.886), (3, 1.085), (5, 1.051), (10, 0.975), (11, 1.023)]
)
def test_the_bias_table_of_the_proof_note(count: int, factor: float) -> None:
    exact = exact_mean([1.0] * count, 0) * math.sqrt(count) * math.sqrt(math.pi / 2)
    assert exact == pytest.approx(factor, abs=1e-3)


def test_popularity_is_found() -> None:
    ratings = market(30_000, 40, 200_000, rng=1)
    asked = question("popularity", items=40, epsilon=4.0)
    ids = pseudonyms(ratings.n_users, np.random.default_rng(5))
    estimator = Estimator(asked)
    estimator.add(ids, answers(asked, (ratings.indptr, ratings.items, ratings.values), ids))
    counts = np.diff(ratings.indptr)
    truth = np.bincount(ratings.items, np.repeat(counts**-0.5, counts), minlength=40) / ratings.n_users
    assert np.corrcoef(truth, estimator.estimate())[0, 1] > 0.98
    assert np.abs(estimator.estimate() - truth).max() < 5 * math.sqrt(noise_variance(4.0, 30_000)) + 0.05


def test_devices_without_ratings_answer_with_a_fair_coin() -> None:
    ids = pseudonyms(20_000, np.random.default_rng(6))
    for kind in ("popularity", "offsets"):
        bits = answers(question(kind, epsilon=8.0), rows([{}] * 20_000), ids)
        assert abs(int(bits.sum()) - 10_000) < 5 * 71


def test_factors_need_the_released_item_side() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(SettingsInvalid):
        truths(question("factors"), rows([{1: 2.0}]), pseudonyms(1, rng), released(50, 3, rng))
    with pytest.raises(SettingsInvalid):
        truths(question("popularity"), rows([{1: 2.0}]), pseudonyms(2, rng))


def test_coins_are_unpredictable_unless_asked_otherwise() -> None:
    assert (Coin().words(8) != Coin().words(8)).any()
    assert not Coin().fixed
    fixed = Coin.fixed_key_not_private(1)
    assert fixed.fixed
    assert (fixed.words(8) == Coin.fixed_key_not_private(1).words(8)).all()
