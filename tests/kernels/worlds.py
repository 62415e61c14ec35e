"""Small random inputs for the kernel tests."""

from __future__ import annotations

import numpy as np


def sparse_rows(rng, lengths, n_items):
    """Compressed sparse rows of the given lengths, items distinct and sorted inside a row."""
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    rows = [np.sort(rng.choice(n_items, length, replace=False)) for length in lengths]
    return indptr, np.concatenate([*rows, np.zeros(0)]).astype(np.int32)


def whole(rng, bound, *shape):
    """Random int16 that reach both bounds."""
    values = rng.integers(-bound, bound + 1, shape).astype(np.int16)
    values.ravel()[:2] = [-bound, bound][: values.size]
    return values


def noisy_moments(rng, m, d, noise):
    """Symmetric matrices as the gate releases them: some definite, most not, one zero, one of rank one."""
    factors = rng.standard_normal((m, d, 3 * d)) * rng.random((m, 1, 1))
    E = rng.standard_normal((m, d, d)) * noise
    H = factors @ factors.transpose(0, 2, 1) / 3 + (E + E.transpose(0, 2, 1)) / 2
    H[0] = 0.0
    H[1] = np.outer(factors[1, :, 0], factors[1, :, 0])
    H[2] = np.eye(d)
    H[3] = -np.eye(d)
    return H
