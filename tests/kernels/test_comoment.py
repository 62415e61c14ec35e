"""Second moment of sparse integer rows: exact, in any order, with any threads."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import kernels
from tests.kernels import reference
from tests.kernels.worlds import sparse_rows, whole

N_ITEMS = 30


def world(bound, n=400, seed=0):
    """Rows of every length, the empty and the full one among them; the last item is never touched."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, N_ITEMS, n)
    lengths[:3] = 0, 1, N_ITEMS - 1
    indptr, items = sparse_rows(rng, lengths, N_ITEMS - 1)
    return indptr, items, whole(rng, bound, len(items))


@pytest.mark.parametrize("bound", [1, 4095, 32767])
def test_exact_against_numpy(bound):
    indptr, items, values = world(bound)
    found = kernels.co_moment(indptr, items, values, N_ITEMS)
    np.testing.assert_array_equal(found, reference.co_moment(indptr, items, values, N_ITEMS))
    assert not found[-1].any()


def test_exact_against_unbounded_integers():
    indptr, items, values = world(32767, n=60)
    found = kernels.co_moment(indptr, items, values, N_ITEMS)
    wanted = [[0] * N_ITEMS for _ in range(N_ITEMS)]
    for row in range(60):
        entries = range(indptr[row], indptr[row + 1])
        for a in entries:
            for b in entries:
                wanted[items[a]][items[b]] += int(values[a]) * int(values[b])
    assert [[int(x) for x in line] for line in found] == wanted


def test_extreme_entries_of_many_rows_do_not_overflow():
    n = 5_000
    indptr, items = 2 * np.arange(n + 1), np.tile(np.array([1, 3], np.int32), n)
    values = np.full(2 * n, -32768, np.int16)
    found = kernels.co_moment(indptr, items, values, 4)
    assert found[1, 1] == found[1, 3] == found[3, 1] == found[3, 3] == n * 2.0**30
    assert found.sum() == 4 * n * 2.0**30


def test_bit_identical_for_any_threads_and_any_order_of_rows():
    rng = np.random.default_rng(1)
    indptr, items, values = world(32767, n=6_000)
    order = rng.permutation(6_000)
    moved = np.concatenate([np.arange(indptr[row], indptr[row + 1]) for row in order])
    turned = np.concatenate([[0], np.cumsum(np.diff(indptr)[order])]), items[moved], values[moved]
    results = set()
    for k, rows in ((1, (indptr, items, values)), (2, (indptr, items, values)), (3, turned)):
        with kernels.threads(k):
            results.add(kernels.co_moment(*rows, N_ITEMS).tobytes())
    assert len(results) == 1


@pytest.mark.parametrize("rows", [0, 3])
def test_nothing_sums_to_zero(rows):
    empty = np.zeros(rows + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int16)
    assert not kernels.co_moment(*empty, 5).any()


def test_foreign_items_and_arrays_that_do_not_fit_are_refused():
    indptr, values = np.array([0, 1]), np.ones(1, np.int16)
    with pytest.raises(IndexError):
        kernels.co_moment(indptr, np.array([2]), values, 2)
    with pytest.raises(ValueError, match="indptr"):
        kernels.co_moment(np.array([0, 2]), np.array([0]), values, 2)
    with pytest.raises(ValueError, match="values"):
        kernels.co_moment(indptr, np.array([0]), np.ones(2, np.int16), 2)
