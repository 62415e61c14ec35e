"""Sums over pairs of items: the products of rows with themselves, added to what is there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from discreet import kernels
from discreet.kernels import pair_sums


def rows(
    users: int, n_items: int, seed: int = 0
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    taken = rng.random((users, n_items)) < rng.random((users, 1))
    indptr = np.concatenate([[0], np.cumsum(taken.sum(axis=1))])
    return indptr, np.nonzero(taken)[1].astype(np.int32), rng.integers(0, 2**32, users)


@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("piece", [1, 40, 1 << 19])
def test_pairs_are_the_products_of_rows(graded: bool, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_sums, "_PIECE", piece)
    users, n_items = 60, 23
    indptr, items, amounts = rows(users, n_items)
    rng = np.random.default_rng(1)
    values = rng.integers(0, 21, len(items)).astype(np.int16) if graded else np.ones(len(items), np.int16)
    whole = np.zeros((users, n_items), np.int64)
    whole[np.repeat(np.arange(users), np.diff(indptr)), items] = values
    wanted = (whole.T * amounts) @ whole
    before = rng.integers(-(2**40), 2**40, n_items * (n_items - 1) // 2)
    found = before.copy()
    kernels.add_pairs(indptr, items, amounts, values, n_items, found)
    assert np.array_equal(found - before, wanted[np.triu_indices(n_items, 1)])


def test_many_threads_and_few_give_the_same() -> None:
    indptr, items, amounts = rows(800, 300)
    values = np.ones(len(items), np.int16)
    found = [np.zeros(300 * 299 // 2, np.int64) for _ in range(2)]
    for out, threads in zip(found, (1, 3), strict=True):
        with kernels.threads(threads):
            kernels.add_pairs(indptr, items, amounts, values, 300, out)
    assert found[0].any()
    assert np.array_equal(*found)


def test_places_of_pairs_are_row_by_row() -> None:
    low, high = np.triu_indices(9, 1)
    assert np.array_equal(kernels.pair_place(low, high, 9), np.arange(36))


def test_a_table_of_another_length_is_refused() -> None:
    indptr, items, amounts = rows(5, 7)
    with pytest.raises(ValueError, match="out has shape"):
        kernels.add_pairs(indptr, items, amounts, np.ones(len(items), np.int16), 7, np.zeros(20, np.int64))
