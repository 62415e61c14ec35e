"""Counts and pairs: everybody who has anything moves a release by its bound and nobody by more, whatever they have."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import RatingsInvalid
from discreet.privacy import Gate, Ledger, Noise
from discreet.privacy.gaussian.blocks import Pattern, total_energies
from discreet.privacy.gaussian.gate import release
from discreet.privacy.gaussian.pairs import HIGHEST, Counts, ItemAmounts, PairAmounts, Pairs
from discreet.privacy.gaussian.totals import exact_totals
from tests.privacy.worlds import LARGE, MU, distance, exact_release

# One user each: how many items, and the values there.
USERS = {
    "two clicks": [1, 1],
    "three of little": [8, 1, 1],
    "one far above the other": [20, 1],
    "the whole of a small catalogue": [1] * 40,
    "everything loved": [20] * 300,
    "below nothing and beyond the most": [-(2**40), 2**40, 5, 3],
    "one thing and much that is worth nothing": [20, *([0] * 50), 1],
}


def one_user(values, m=None):
    return Pattern(np.array([0, len(values)]), np.arange(len(values), dtype=np.int32), m or len(values))


def moved(mechanism, pattern, values):
    blocks = mechanism.blocks(pattern, np.asarray(values))
    full, sigmas = exact_release(blocks)
    less, _ = exact_release(list(mechanism.empty()))
    return distance(full, less, sigmas, MU)


@pytest.mark.parametrize("who", list(USERS))
@pytest.mark.parametrize("kind", [Counts, Pairs])
def test_everybody_moves_a_release_by_the_bound(kind, who):
    values = USERS[who]
    change = moved(kind(len(values)), one_user(values), values)
    assert 1.0 - 1e-4 <= change <= 1.0 + 1e-12
    if len(values) < 50:
        assert change >= 1.0 - 1e-6


@pytest.mark.parametrize("kind", [Counts, Pairs])
def test_who_has_ten_thousand_items_is_bounded_too(kind):
    rng = np.random.default_rng(0)
    for values in (np.ones(10_000), np.full(10_000, HIGHEST), rng.integers(0, 21, 10_000)):
        (energy,) = total_energies(kind(10_000).blocks(one_user(values), values.astype(np.int64)))
        assert 0.99 <= energy <= 1.0
    values = rng.integers(0, 21, 3_000)
    assert 0.99 <= moved(kind(3_000), one_user(values), values) <= 1.0


def test_energies_are_the_squared_lengths_of_what_is_summed():
    """In exact fractions: of counts the squares, of pairs twice those of the triangle."""
    rng = np.random.default_rng(1)
    for k in (1, 2, 5, 30):
        values = rng.integers(0, 21, k)
        pattern = one_user(values, 30)
        counts, pairs = Counts(30).blocks(pattern, values)[0], Pairs(30).blocks(pattern, values)[0]
        for block, times in ((counts, 1), (pairs, 2)):
            exact = sum(Fraction(times * int(number) ** 2, 2**64) for number in block.total())
            assert exact <= 1
            assert float(exact) == pytest.approx(float(block.energies()[0]), rel=1e-14, abs=0.0)


def test_nobody_has_a_value_beyond_the_highest():
    """So that sums of fourth powers are whole numbers that float64 holds, whoever made the values."""
    for values in ([HIGHEST + 1, 1], [-1, HIGHEST], [2**15 - 1, 1], [2**40, 0]):
        for mechanism in (Counts(2), Pairs(2)):
            kept = mechanism.blocks(one_user(values), np.array(values))[0].values
            assert kept.tolist() == [min(max(value, 0), HIGHEST) for value in values]


@pytest.mark.parametrize("values", [[], [7], [0, 0, 0], [5, 0, 0], [-3, 12]])
def test_who_has_no_two_items_says_nothing_of_pairs(values):
    (block,) = Pairs(len(values)).blocks(one_user(values), np.array(values, np.int64))
    assert not block.total().any()
    assert not block.energies().any()


def test_who_has_nothing_is_not_counted():
    pattern = Pattern(np.array([0, 2, 2, 3, 4]), np.array([0, 1, 1, 0], np.int32), 2)
    items, users = Counts(2).blocks(pattern, np.array([1, 1, 4, 0]))
    assert (users.values[:, 0] > 0).tolist() == [True, False, True, False]
    assert (items.amounts > 0).tolist() == [True, False, True, False]


def test_numbers_are_read_in_users():
    """Without noise: three who took one item and the other, one who took the first alone."""
    pattern = Pattern(np.array([0, 2, 4, 6, 7]), np.array([0, 1, 0, 1, 0, 1, 0], np.int32), 3)
    values = np.ones(7, np.int64)
    mu = 0.1
    totals = {
        total.name: total.value.astype(float) for total in exact_totals(Counts(3).blocks(pattern, values))
    }
    counts = Counts(3).read(totals, mu)
    assert counts.counts == pytest.approx([1.0 + 3.0 / np.sqrt(2.0), 3.0 / np.sqrt(2.0), 0.0], rel=1e-8)
    assert counts.users == pytest.approx(4.0, rel=1e-8)
    totals = {
        total.name: total.value.astype(float) for total in exact_totals(Pairs(3).blocks(pattern, values))
    }
    pairs = Pairs(3).read(totals, mu)
    assert pairs.pairs == pytest.approx([3.0 / np.sqrt(2.0), 0.0, 0.0], rel=1e-8)


def test_the_noise_has_the_size_that_is_said():
    """Over many numbers, within six deviations of the estimate."""
    gate = Gate(Ledger(LARGE), Noise.fixed_key_not_private("k"))
    mu, m = 0.3, 400
    values = np.zeros(0, np.int16)
    counts = release(gate, "counts", Counts(m), Pattern.empty(m), values, mu=mu)
    pairs = release(gate, "pairs", Pairs(m), Pattern.empty(m), values, mu=mu)
    for numbers, sigma in ((counts.counts, counts.sigma), (pairs.pairs, pairs.sigma)):
        n = len(numbers)
        assert abs(numbers.std() / sigma - 1.0) < 6.0 / np.sqrt(2.0 * n)
    assert pairs.sigma == pytest.approx(1.0 / (np.sqrt(2.0) * mu))
    assert counts.sigma == pytest.approx(1.0 / (mu * np.sqrt(0.95)))
    assert abs(counts.users) < 6.0 * counts.users_sigma
    assert counts.users_sigma == pytest.approx(1.0 / (mu * np.sqrt(0.05)))


def test_arrays_that_do_not_fit_are_refused():
    pattern = one_user([1, 1])
    good = PairAmounts("pairs", pattern, np.array([1]), np.ones(2, np.int16))
    for kind in (ItemAmounts, PairAmounts):
        for wrong in (
            {"amounts": np.array([1, 1])},
            {"values": np.ones(3, np.int16)},
            {"amounts": np.array([1.0])},
            {"values": np.ones(2, np.int32)},
            {"values": np.ones(2, np.uint16)},
        ):
            with pytest.raises(RatingsInvalid, match=r"one amount a user|amounts are int64"):
                replace(kind("x", pattern, good.amounts, good.values), **wrong)


def test_repeated_items_are_refused_before_they_count_twice():
    with pytest.raises(RatingsInvalid, match="strictly ascending"):
        Pattern(np.array([0, 2]), np.array([1, 1], np.int32), 3)


def test_who_exceeds_the_bound_is_left_out():
    """An amount twice as large, as if some code had a mistake in it: the gate's own check silences the user."""
    pattern = Pattern(np.array([0, 2, 4]), np.array([0, 1, 0, 2], np.int32), 3)
    values = np.ones(4, np.int64)
    for mechanism in (Counts(3), Pairs(3)):
        first, *rest = mechanism.blocks(pattern, values)
        loud = replace(first, amounts=first.amounts * np.array([2, 1]))
        second = Pattern(np.array([0, 2]), pattern.items[2:], 3)
        found, wanted = exact_totals([loud, *rest]), exact_totals(mechanism.blocks(second, values[2:]))
        for one, other in zip(found, wanted, strict=True):
            assert np.array_equal(one.value, other.value)
