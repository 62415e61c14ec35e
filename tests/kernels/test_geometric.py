"""Geometric integers: the compiled draws are those of Python's own integers, word by word."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.kernels import geometric as kernels
from tests.kernels import reference


def words(seed: int, size: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, size, dtype=np.uint64)


@pytest.mark.parametrize(
    ("numerator", "denominator"), [(1, 1), (7, 8), (3, 1), (1, 2**44), (2**19 + 1, 2**44), (2**20 - 1, 2)]
)
@pytest.mark.parametrize("two_sided", [False, True])
def test_the_same_numbers_from_the_same_words(numerator: int, denominator: int, two_sided: bool) -> None:
    for seed, size, number in ((0, 6_000, 300), (1, 50, 300), (2, 0, 3), (3, 4, 0)):
        got, wanted = np.zeros(number, np.int64), np.zeros(number, np.int64)
        source = words(seed, size)
        done = kernels.fill_geometric(source, got, 0, numerator, denominator, two_sided)
        assert done == reference.fill_geometric(source, wanted, 0, numerator, denominator, two_sided)
        np.testing.assert_array_equal(got, wanted)


def test_words_above_the_last_whole_block_are_thrown_away() -> None:
    """A bound of 3 leaves one word over in 64 bits; were it used, 0 would come too often."""
    source = np.concatenate([np.full(5, 2**64 - 1, np.uint64), words(4, 4_000)])
    got, wanted = np.zeros(50, np.int64), np.zeros(50, np.int64)
    done = kernels.fill_geometric(source, got, 0, 1, 3, False)
    assert done == reference.fill_geometric(source, wanted, 0, 1, 3, False)
    np.testing.assert_array_equal(got, wanted)
    later = np.zeros(50, np.int64)
    assert kernels.fill_geometric(source[5:], later, 0, 1, 3, False) == (50, done[1] - 5)
    np.testing.assert_array_equal(later, got)


def test_a_number_the_words_did_not_suffice_for_has_taken_none() -> None:
    source, whole = words(5, 3_000), np.zeros(100, np.int64)
    assert kernels.fill_geometric(source, whole, 0, 3, 8, True)[0] == 100
    pieces, done, start = np.zeros(100, np.int64), 0, 0
    for stop in range(1, 3_000):
        done, used = kernels.fill_geometric(source[start:stop], pieces, done, 3, 8, True)
        start += used
    np.testing.assert_array_equal(pieces, whole)


@pytest.mark.parametrize("last", range(2, 40))
def test_a_coin_falls_right_however_late(last: int) -> None:
    """Of a coin of chance 1/e: it falls at the first k whose draw is not below 1, and says yes where that k is odd.

    A draw beyond the sixth is needed once in some thousand coins, so that no sample shows what is wrong there.
    """
    late = [0] * (last - 1) + [1]
    source = np.array([0, 0, *late, 0, 1], np.uint64)
    out = np.full(1, -1, np.int64)
    done = kernels.fill_geometric(source, out, 0, 1, 1, False)
    assert out[0] == last % 2
    assert done == (1, len(source) if last % 2 else len(source) - 2)
