"""The binary mechanism, enumerated: no pair of inputs is told apart by more than e^epsilon, and hardly less."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from discreet.errors import BudgetInvalid
from discreet.privacy.local.rotated import Coin
from reproduction.local.response import (
    BITS,
    LARGEST_EPSILON,
    amplification,
    respond,
    thresholds,
)
from tests.reproduction.ratios import HOSTILE, ratio


@pytest.mark.parametrize("epsilon", [1e-6, 0.005, 0.05, 0.1, 0.5, 1.0, 1.6, 4.0, 10.0, 20.0, LARGEST_EPSILON])
def test_the_largest_ratio_is_e_to_the_epsilon_and_not_more(epsilon: float) -> None:
    bound = Decimal(epsilon).exp()
    assert Decimal("0.99") * bound <= ratio(epsilon, HOSTILE) <= bound


def test_values_are_clipped_before_the_coin() -> None:
    outside, edge = thresholds(np.array([-7.0, 7.0]), 1.0), thresholds(np.array([-1.0, 1.0]), 1.0)
    np.testing.assert_array_equal(outside, edge)
    assert thresholds(np.array([np.nan]), 1.0)[0] == 1 << (BITS - 1)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
def test_answers_are_right_on_average(epsilon: float) -> None:
    values = np.array([-1.0, -0.25, 0.0, 0.6, 1.0])
    mean = (2.0 * thresholds(values, epsilon) / 2.0**BITS - 1.0) * amplification(epsilon)
    np.testing.assert_allclose(mean, values, atol=1e-9)
    assert amplification(epsilon) == pytest.approx(1.0 / np.tanh(epsilon / 2.0), rel=1e-9)
    bits = respond(np.repeat(values, 40_000), epsilon, Coin()).reshape(5, -1)
    assert set(np.unique(bits)) == {-1, 1}
    spread = amplification(epsilon) / 200.0
    np.testing.assert_allclose(bits.mean(axis=1) * amplification(epsilon), values, atol=5.5 * spread)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, np.nan, np.inf, 40.0, 1e-16])
def test_an_epsilon_without_meaning_is_refused(epsilon: float) -> None:
    with pytest.raises(BudgetInvalid):
        thresholds(np.zeros(1), epsilon)
