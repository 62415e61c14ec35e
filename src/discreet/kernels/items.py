"""Exact sums over each item's users (gradients, weights, second moments) and over pairs, and items' solves.

Features and targets are int16, so a product has 30 bits: double precision adds up those of some millions of users
without rounding, in any order.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from threadpoolctl import ThreadpoolController

from discreet.kernels.checks import check_index, check_rows, check_shapes
from discreet.kernels.compile import kernel
from discreet.kernels.entries import longest_first
from discreet.kernels.sums import add_pairs
from discreet.kernels.threads import by_rows, claim, share
from discreet.kernels.tiles import add_square, aligned, clear, padded
from discreet.types import Floats, Indices, Ints, Shorts

__all__ = [
    "co_moment",
    "item_moments",
    "item_sums",
    "item_weights",
    "one_blas_thread",
    "pair_place",
    "solve_items",
    "user_moment",
]

ROWS = 64
"""Users gathered at once: the block stays in a near cache."""


def item_moments(t_indptr: Indices, t_users: Indices, features: Shorts) -> Floats:
    """Sum of f f^T over the users of each item, exactly: float64, items x d x d.

    Parameters
    ----------
    t_indptr, t_users
        Users of each item, as given by `transpose`.
    features
        int16, users x d.
    """
    m, (n, d) = len(t_indptr) - 1, features.shape
    check_rows(t_indptr, t_users, n)
    out = np.empty((m, d, d))
    share(
        _item_moments,
        m,
        float(t_indptr[-1]) * d * d / 2 + out.size,
        longest_first(t_indptr),
        np.ascontiguousarray(t_indptr, np.int64),
        np.ascontiguousarray(t_users, np.int32),
        np.ascontiguousarray(features, np.int16),
        padded(d, np.float64),
        out,
    )
    return out


def item_sums(
    t_indptr: Indices, t_users: Indices, t_position: Indices, features: Shorts, targets: Shorts
) -> Floats:
    """Sum of target times feature over the entries of each item, exactly: float64, items x d.

    Parameters
    ----------
    t_indptr, t_users, t_position
        Entries of each item, as given by `transpose`.
    features
        int16, users x d.
    targets
        int16, one for each entry, in user order.
    """
    m, (n, d) = len(t_indptr) - 1, features.shape
    check_rows(t_indptr, t_users, n)
    check_shapes(t_position=(t_position, t_users.shape), targets=(targets, t_users.shape))
    check_index(t_position, len(targets))
    out = np.zeros((m, d))
    share(
        _item_sums,
        m,
        float(t_indptr[-1]) * d,
        longest_first(t_indptr),
        np.ascontiguousarray(t_indptr, np.int64),
        np.ascontiguousarray(t_users, np.int32),
        np.ascontiguousarray(t_position, np.int64),
        np.ascontiguousarray(features, np.int16),
        np.ascontiguousarray(targets, np.int16),
        out,
    )
    return out


def item_weights(t_indptr: Indices, t_users: Indices, weights: NDArray[np.int32]) -> Floats:
    """Sum of the weights of each item's users, exactly."""
    check_rows(t_indptr, t_users, len(weights))
    sums = np.zeros(len(t_users) + 1, np.int64)
    np.cumsum(weights[t_users], out=sums[1:])
    return np.diff(sums[t_indptr]).astype(np.float64)


def user_moment(features: Shorts) -> Floats:
    """Sum of f f^T over all rows of an int16 matrix, exactly."""
    everyone = np.arange(len(features), dtype=np.int32)
    cuts = np.append(np.arange(0, len(features), 1 << 14), len(features))
    moments: Floats = item_moments(cuts, everyone, features).sum(axis=0)
    return moments


def co_moment(indptr: Indices, items: Indices, values: Shorts, n_items: int) -> Floats:
    """Sum over rows of ``y y^T``, where row i has ``values`` at its items (ascending) and zeros elsewhere: exact."""
    pairs = np.zeros(n_items * (n_items - 1) // 2, np.int64)
    add_pairs(indptr, items, np.ones(len(indptr) - 1, np.int64), values, n_items, pairs)
    out = np.zeros((n_items, n_items))
    for first in range(n_items - 1):
        start = first * (2 * n_items - first - 1) // 2
        out[first, first + 1 :] = out[first + 1 :, first] = pairs[start : start + n_items - first - 1]
    out[np.diag_indices(n_items)] = np.bincount(items, np.square(values, dtype=np.float64), minlength=n_items)
    return out


def pair_place(low: Indices, high: Indices, n_items: int) -> Ints:
    """Where the pair of items ``low < high`` is among all pairs."""
    low = np.asarray(low, np.int64)
    return low * (2 * n_items - low - 1) // 2 + np.asarray(high, np.int64) - low - 1


def solve_items(H: Floats, q: Floats, ridge: Floats) -> Floats:
    """Solve ``(PSD(H_j) + diag(ridge_j)) x_j = q_j`` for every item.

    PSD is the projection to the positive semidefinite cone, by eigenvalues. Where the Cholesky factorisation of H_j
    succeeds it is there already.

    Parameters
    ----------
    H
        float64, items x d x d, symmetric.
    q
        float64, items x d.
    ridge
        float64, d or items x d, not negative.

    Returns
    -------
    float64, items x d
        Zeros for an item whose matrix is singular even with its ridge; NaN where H or q is not finite.
    """
    m, d = q.shape
    check_shapes(H=(H, (m, d, d)))
    out = np.full((m, d), np.nan)
    ridges = np.broadcast_to(np.asarray(ridge, np.float64), (m, d))

    def some(items: slice) -> None:
        for j in range(*items.indices(m)):
            if np.isfinite(H[j]).all() and np.isfinite(q[j]).all():
                out[j] = _solved(_projected(H[j]) + np.diag(ridges[j]), q[j])

    with one_blas_thread():
        by_rows(some, m, least=32)
    return out


def _projected(matrix: Floats) -> Floats:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
        projected: Floats = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return projected
    return matrix


def _solved(matrix: Floats, vector: Floats) -> Floats:
    try:
        solution: Floats = cho_solve(cho_factor(matrix, check_finite=False), vector, check_finite=False)
    except np.linalg.LinAlgError:
        return np.zeros_like(vector)
    return solution


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all loaded libraries: some milliseconds, so once


def one_blas_thread() -> AbstractContextManager[Any]:
    """Inside, BLAS and LAPACK use the calling thread only: the kernels bring their own threads."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


@kernel
def _item_moments(
    counter: Any, grain: int, order: Any, t_indptr: Any, t_users: Any, features: Any, width: int, out: Any
) -> None:
    m, d, _ = out.shape
    block, total = aligned(ROWS, width, out), aligned(width, width, out)
    first = claim(counter, grain)
    while first < m:
        for place in range(first, min(first + grain, m)):
            j = order[place]
            clear(total)
            for start in range(t_indptr[j], t_indptr[j + 1], ROWS):
                stop = min(start + ROWS, t_indptr[j + 1])
                for k in range(start, stop):
                    row = features[t_users[k]]
                    for c in range(d):
                        block[k - start, c] = row[c]
                add_square(total, block, stop - start, d)
            for p in range(d):
                for c in range(p, d):
                    out[j, p, c] = total[p, c]
                    out[j, c, p] = total[p, c]
        first = claim(counter, grain)


@kernel
def _item_sums(
    counter: Any,
    grain: int,
    order: Any,
    t_indptr: Any,
    t_users: Any,
    t_position: Any,
    features: Any,
    targets: Any,
    out: Any,
) -> None:
    m, d = out.shape
    first = claim(counter, grain)
    while first < m:
        for place in range(first, min(first + grain, m)):
            j = order[place]
            total = out[j]
            for entry in range(t_indptr[j], t_indptr[j + 1]):
                target, row = float(targets[t_position[entry]]), features[t_users[entry]]
                for c in range(d):
                    total[c] += target * row[c]
        first = claim(counter, grain)
