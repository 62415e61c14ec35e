"""Intervals: a mean's is the textbook's, and the others hold what they should."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.evaluation.result import Measured, covered, mean_of, pooled
from tests.evaluation.reference import half_width

RNG = np.random.default_rng(0)


def test_of_a_mean() -> None:
    values = np.append(RNG.random(40), [np.nan] * 5)
    found, reach = mean_of(values), half_width(values[:40])
    assert found.value == pytest.approx(values[:40].mean())
    assert (found.low, found.high) == pytest.approx((found.value - reach, found.value + reach))


def test_of_an_error_people_are_left_out_one_at_a_time() -> None:
    sizes = RNG.integers(0, 9, 30).astype(float)
    sums = sizes * RNG.uniform(0.5, 2.0, 30)
    found = pooled(sums, sizes, root=True)
    some = np.flatnonzero(sizes)
    without = [math.sqrt((sums.sum() - sums[i]) / (sizes.sum() - sizes[i])) for i in some]
    error = math.sqrt((len(some) - 1) ** 2 / len(some) * np.var(without, ddof=1))
    assert found.value == pytest.approx(math.sqrt(sums.sum() / sizes.sum()))
    assert found.high - found.value == pytest.approx(1.96 * error)
    alike = pooled(np.full(30, 2.0), np.full(30, 4.0))
    assert (alike.value, alike.low, alike.high) == pytest.approx((0.5, 0.5, 0.5))


def test_coverage_moves_with_what_one_person_alone_is_shown() -> None:
    lists = [{0, 1, 2}, {1, 2}, {2, 3, 4}, {2, 1}]
    shown = np.array([item in set().union(*lists) for item in range(8)])
    others = [set().union(*(one for j, one in enumerate(lists) if j != i)) for i in range(4)]
    alone = np.array([float(len(one - other)) for one, other in zip(lists, others, strict=True)])
    without = np.array([len(other) / 8 for other in others])
    found = covered(shown, alone)
    assert found.value == 5 / 8
    assert found.high - found.value == pytest.approx(
        min(1.96 * math.sqrt(0.75 * ((without - without.mean()) ** 2).sum()), 3 / 8)
    )


@pytest.mark.parametrize("kind", ["mean", "error"])
def test_95_of_100_intervals_hold_the_truth(kind: str) -> None:
    """People differ in how many rows they have, and in what these say; 2,000 draws of 60 people."""
    rng, inside = np.random.default_rng(5), 0
    for _ in range(2000):
        sizes = rng.integers(1, 20, 60).astype(float)
        taste = rng.uniform(0.0, 1.0, 60)
        found = mean_of(taste) if kind == "mean" else pooled(taste * sizes, sizes)
        inside += found.low <= 0.5 <= found.high
    assert 0.93 < inside / 2000 < 0.965


def test_bounds_are_cut_off_and_one_person_has_no_interval() -> None:
    sure = mean_of(np.array([1.0] * 5 + [0.9]))
    assert sure.high == 1.0
    assert sure.low > 0.9
    assert mean_of(np.array([3.0, 9.0]), np.inf).high > 9.0
    for one in (mean_of(np.array([0.5])), pooled(np.array([2.0]), np.array([4.0]))):
        assert one.value == 0.5
        assert math.isnan(one.low)
        assert math.isnan(one.high)
    nobody = np.zeros(2)
    for unknown in (
        mean_of(np.array([np.nan])),
        pooled(nobody, nobody),
        covered(np.ones(0, bool), np.ones(0)),
    ):
        assert math.isnan(unknown.value)
    assert str(Measured(0.25, 0.2, 0.3)) == "0.2500 (0.2000 to 0.3000)"
    assert float(Measured(0.25, 0.2, 0.3)) == 0.25
