"""The kernels in plain NumPy: slow, short, and the oracle the compiled ones are tested against.

Every function here has the name, the arguments and the meaning of the one exported by `discreet.kernels`.
"""

from __future__ import annotations

import itertools

import numpy as np


def solve_rows(indptr, items, targets, features, ridge, row_scale=None, gram=None, rhs=None):
    """Ridge solve of every row."""
    kind = features.dtype
    n, d = len(indptr) - 1, features.shape[1]
    scale = np.ones(n) if row_scale is None else np.asarray(row_scale)
    out = np.zeros((n, d), kind)
    for i in range(n):
        entries = slice(int(indptr[i]), int(indptr[i + 1]))
        block = features[items[entries]]
        matrix = block.T @ block + np.diag(ridge * scale[i]).astype(kind)
        vector = block.T @ targets[entries].astype(kind)
        if gram is not None:
            matrix = matrix + gram.astype(kind)
        if rhs is not None:
            vector = vector + rhs.astype(kind)
        out[i] = _definite_solve(matrix, vector)
    return out


def _definite_solve(matrix, vector):
    """The solution, or zeros where the matrix is not positive definite (then no minimum exists)."""
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return np.zeros_like(vector)
    return np.linalg.solve(matrix, vector)


def item_sums(t_indptr, t_users, t_position, features, targets):
    """Exact sums of target times feature."""
    out = np.zeros((len(t_indptr) - 1, features.shape[1]), np.int64)
    for j in range(len(out)):
        entries = slice(int(t_indptr[j]), int(t_indptr[j + 1]))
        values = targets[t_position[entries]].astype(np.int64)
        out[j] = values @ features[t_users[entries]].astype(np.int64)
    return out.astype(np.float64)


def item_moments(t_indptr, t_users, features):
    """Exact sums of f f^T per item."""
    d = features.shape[1]
    out = np.zeros((len(t_indptr) - 1, d, d), np.int64)
    for j in range(len(out)):
        block = features[t_users[int(t_indptr[j]) : int(t_indptr[j + 1])]].astype(np.int64)
        out[j] = block.T @ block
    return out.astype(np.float64)


def user_moment(features):
    """Exact sum of f f^T over all rows."""
    whole = features.astype(np.int64)
    return (whole.T @ whole).astype(np.float64)


def solve_items(H, q, ridge):
    """PSD projection, then ridge, then solve."""
    m, d = q.shape
    ridges = np.broadcast_to(ridge, (m, d))
    out = np.zeros((m, d))
    for j in range(m):
        values, vectors = np.linalg.eigh(H[j])
        positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
        out[j] = _definite_solve(positive + np.diag(ridges[j]), q[j])
    return out


def top_n(coefficients, factors, offsets, n, exclude_indptr=None, exclude_items=None, allowed=None):
    """The n best items of every row."""
    rows, m = len(coefficients), len(factors)
    index = np.full((rows, n), -1, np.int32)
    scores = np.full((rows, n), np.nan)
    for i in range(rows):
        open_items = np.ones(m, bool) if allowed is None else allowed.copy()
        if exclude_indptr is not None and exclude_items is not None:
            open_items[exclude_items[int(exclude_indptr[i]) : int(exclude_indptr[i + 1])]] = False
        row = factors.astype(np.float64) @ coefficients[i].astype(np.float64) + offsets
        open_items &= ~np.isnan(row)
        candidates = np.flatnonzero(open_items)
        best = candidates[np.argsort(-row[candidates], kind="stable")[:n]]
        index[i, : len(best)] = best
        scores[i, : len(best)] = row[best]
    return index, scores


def fill_geometric(words, out, done, numerator, denominator, two_sided):
    """In Python's integers, which never overflow."""
    stream, used = iter(words.tolist()), 0

    def below(bound):
        nonlocal used
        for word in stream:
            used += 1
            if word < 2**64 // bound * bound:
                return int(word) % bound
        raise EOFError

    def decays(over, under):
        for k in itertools.count(1):
            if below(under * k) >= over:
                break
        return k % 2 == 1

    def number():
        remainder = below(denominator)
        if not decays(remainder, denominator):
            return None
        whole = 0
        while decays(1, 1):
            whole += 1
        size = (remainder + denominator * whole) // numerator
        if two_sided and below(2) == 1:
            return -size if size else None
        return size

    while done < len(out):
        start = used
        try:
            drawn = number()
        except EOFError:
            return done, start
        if drawn is not None:
            out[done] = drawn
            done += 1
    return done, used


def capped_distances(points, centres, cap, steps):
    """Squared distances in steps."""
    return np.where(_squares(points, centres) >= cap, steps, _squares(points, centres) * steps // cap).astype(
        np.int16
    )


def nearest_centres(points, centres):
    """The first of the nearest."""
    return _squares(points, centres).argmin(axis=1)


def swap_losses(distances, chosen):
    """Losses after each swap."""
    out = np.zeros((len(chosen), distances.shape[1]), np.int64)
    for leaves, comes in np.ndindex(*out.shape):
        swapped = np.array(chosen)
        swapped[leaves] = comes
        out[leaves, comes] = distances[:, swapped].min(axis=1).sum(dtype=np.int64)
    return out


def row_distances(indptr, items, values, centres, cap, steps, *, whole):
    """Distance to the nearest centre."""
    out = np.zeros(len(indptr) - 1, np.int64)
    for i in range(len(out)):
        own = slice(int(indptr[i]), int(indptr[i + 1]))
        row, columns = np.zeros(centres.shape[1], np.int64), np.ones(centres.shape[1], np.bool_)
        row[items[own]] = values[own]
        if not whole:
            columns[:] = False
            columns[items[own]] = True
        least = int(((row - centres) ** 2)[:, columns].sum(axis=1).min())
        out[i] = steps if least >= cap else least * steps // cap
    return out


def project_rows(indptr, items, values, matrix):
    """Rows times matrix."""
    parts = [
        values[start:stop].astype(np.int64) @ matrix[items[start:stop]].astype(np.int64)
        for start, stop in itertools.pairwise(indptr.astype(np.int64))
    ]
    return np.array(parts, dtype=np.int64).reshape(len(indptr) - 1, matrix.shape[1])


def _squares(points, centres):
    gaps = points.astype(np.int64)[:, None] - centres.astype(np.int64)[None]
    return (gaps**2).sum(axis=2)


def transpose(indptr, items, n_items):
    """The same entries item by item."""
    position = np.argsort(items, kind="stable").astype(np.int64)
    users = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    t_indptr = np.zeros(n_items + 1, np.int64)
    np.cumsum(np.bincount(items, minlength=n_items), out=t_indptr[1:])
    return t_indptr, users[position], position


def item_weights(t_indptr, t_users, weights):
    """Exact sums of user weights per item."""
    running = np.concatenate([[0], np.cumsum(weights[t_users].astype(np.int64))])
    return (running[t_indptr[1:]] - running[t_indptr[:-1]]).astype(np.float64)
