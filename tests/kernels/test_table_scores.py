"""Lists from a sparse table are those of the dense product."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from discreet import kernels


def made(users: int, m: int, seed: int) -> tuple[scipy.sparse.csr_array, scipy.sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    taken = scipy.sparse.random_array((users, m), density=0.1, rng=rng, format="csr")
    taken.data = rng.choice([-0.6, 0.2, 1.0], len(taken.data))
    table = scipy.sparse.random_array((m, m), density=0.2, rng=rng, format="csr", dtype=np.float32)
    return taken, table, 1e-6 * rng.random(m)


def rows(matrix: scipy.sparse.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    matrix.sort_indices()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data


@pytest.mark.parametrize("seed", range(3))
def test_the_best_are_those_of_the_dense_product(seed: int) -> None:
    taken, table, offsets = made(40, 60, seed)
    allowed = np.random.default_rng(seed).random(60) < 0.9
    dense = taken.toarray() @ table.toarray().astype(np.float64) + offsets
    wanted = dense.copy()
    wanted[taken.toarray() != 0.0] = -np.inf
    wanted[:, ~allowed] = -np.inf
    histories = rows(taken)
    index, scores = kernels.table_top(
        histories, kernels.Table(*rows(table)), offsets, 7, histories[0], histories[1], allowed
    )
    np.testing.assert_array_equal(index, np.argsort(-wanted, axis=1, kind="stable")[:, :7])
    np.testing.assert_allclose(scores, np.take_along_axis(dense, index.astype(np.int64), axis=1), rtol=1e-12)
    users, items = np.repeat(np.arange(40), 60), np.tile(np.arange(60), 40)
    some = kernels.table_scores(histories, kernels.Table(*rows(table)), offsets, users, items)
    np.testing.assert_allclose(some, dense.ravel(), rtol=1e-12, atol=1e-15)


def test_what_points_outside_is_refused() -> None:
    starts, others, weights = rows(made(4, 5, 0)[1])
    with pytest.raises(IndexError):
        kernels.Table(starts, others + 5, weights)
    with pytest.raises(ValueError, match="indptr"):
        kernels.Table(starts[::-1], others, weights)
    table, one = kernels.Table(starts, others, weights), np.zeros(1, np.int64)
    history = (np.array([0, 1]), np.array([7]), np.ones(1))
    with pytest.raises(IndexError):
        kernels.table_top(history, table, np.zeros(5), 2)
    with pytest.raises(IndexError):
        kernels.table_scores((np.array([0, 0]), one[:0], one[:0]), table, np.zeros(5), one, one + 5)
