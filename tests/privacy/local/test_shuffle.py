"""The central epsilon behind a shuffler: exact divergences of small cases never pass it."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import product

import numpy as np
import pytest

from discreet.errors import BudgetInvalid
from discreet.privacy.local.shuffle import central_delta, central_epsilon, closed_form_epsilon


def count_of_ones(bits: tuple[int, ...], epsilon: float) -> np.ndarray:
    """Distribution of the number of ones among shuffled randomised responses, exactly."""
    keep = 1 / (1 + math.exp(-epsilon))
    out = np.array([1.0])
    for bit in bits:
        one = keep if bit else 1 - keep
        out = np.convolve(out, [1 - one, one])
    return out


@pytest.mark.parametrize("local", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("users", [1, 2, 5, 12, 60])
def test_shuffled_randomised_response_never_passes_the_bound(local: float, users: int) -> None:
    tightest = 0.0
    for ones in range(users):
        others = (1,) * ones + (0,) * (users - 1 - ones)
        first, second = count_of_ones((1, *others), local), count_of_ones((0, *others), local)
        for epsilon in np.linspace(0.0, local, 9):
            claimed = central_delta(local, users, float(epsilon))
            for a, b in ((first, second), (second, first)):
                exact = float(np.maximum(a - math.exp(epsilon) * b, 0.0).sum())
                assert exact <= claimed + 1e-12
                if claimed > 1e-9:
                    tightest = max(tightest, exact / claimed)
    assert tightest > 0.3


def test_with_a_random_place_it_never_passes_the_bound() -> None:
    """Reports (place, bit) for two places: multisets of four reports, all inputs of the other three."""
    local, users = 1.0, 4
    keep = 1 / (1 + math.exp(-local))
    inputs = list(product((0, 1), repeat=2))

    def shuffled(crowd: tuple[tuple[int, int], ...]) -> dict[tuple[int, ...], float]:
        worlds: dict[tuple[int, ...], float] = {(0, 0, 0, 0): 1.0}
        for own in crowd:
            following: dict[tuple[int, ...], float] = defaultdict(float)
            for counts, chance in worlds.items():
                for place, bit in product((0, 1), repeat=2):
                    new = list(counts)
                    new[2 * place + bit] += 1
                    following[tuple(new)] += chance * 0.5 * (keep if own[place] == bit else 1 - keep)
            worlds = following
        return worlds

    for others in product(inputs, repeat=users - 1):
        if list(others) != sorted(others):
            continue
        worlds = [shuffled((own, *others)) for own in inputs]
        for a, b in product(worlds, repeat=2):
            for epsilon in (0.0, 0.2, 0.5, 0.8):
                exact = sum(max(chance - math.exp(epsilon) * b[key], 0.0) for key, chance in a.items())
                assert exact <= central_delta(local, users, epsilon) + 1e-12


def test_the_bound_is_a_bound_of_the_clones_one_by_one() -> None:
    """The blocks of clones round up: the sum over every number of clones, one by one, is slightly less."""
    local, users, epsilon = 1.0, 3000, 0.08
    keep, chance = 1 / (1 + math.exp(-local)), math.exp(-local)
    total = 0.0
    from scipy.stats import binom

    for clones in range(700, 1500):
        a = np.arange(clones + 2)
        low, high = binom.pmf(a - 1, clones, 0.5), binom.pmf(a, clones, 0.5)
        first, second = keep * low + (1 - keep) * high, (1 - keep) * low + keep * high
        given = np.maximum(first - math.exp(epsilon) * second, 0.0).sum()
        total += given * binom.pmf(clones, users - 1, chance)
    claimed = central_delta(local, users, epsilon)
    assert total <= claimed <= 1.1 * total


@pytest.mark.parametrize(("local", "users"), [(0.5, 2_000), (1.0, 20_000), (2.0, 100_000), (4.0, 1_000_000)])
def test_the_closed_form_is_looser_and_both_amplify(local: float, users: int) -> None:
    numerical = central_epsilon(local, users, 1e-6)
    assert numerical < closed_form_epsilon(local, users, 1e-6) < local
    assert central_delta(local, users, numerical) <= 1e-6
    assert central_delta(local, users, 0.99 * numerical) > 1e-6


def test_it_never_promises_less_than_local_privacy_does() -> None:
    assert central_epsilon(1.0, 1, 1e-6) == pytest.approx(1.0, abs=1e-5)
    assert closed_form_epsilon(1.0, 10, 1e-6) == 1.0
    assert central_delta(1.0, 10, 1.0) == 0.0


def test_more_reports_hide_better() -> None:
    found = [central_epsilon(1.0, users, 1e-6) for users in (100, 1_000, 10_000, 100_000)]
    assert found == sorted(found, reverse=True)
    assert found[-1] == pytest.approx(found[-2] / math.sqrt(10), rel=0.1)


@pytest.mark.parametrize(
    ("local", "users", "delta"), [(0.0, 10, 0.1), (1.0, 0, 0.1), (1.0, 10, 0.0), (math.nan, 10, 0.1)]
)
def test_impossible_budgets_are_refused(local: float, users: int, delta: float) -> None:
    for bound in (central_epsilon, closed_form_epsilon):
        with pytest.raises(BudgetInvalid):
            bound(local, users, delta)
