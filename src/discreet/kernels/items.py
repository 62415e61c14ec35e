"""Exact integer sums over users: what the gate releases (with noise) for every item.

Features and targets are integers on a public grid, so sums can be taken in any order, by any number of threads, and
agree bit for bit. Products of two int16 are added in int32 for as many rows as cannot overflow (127 rows at twelve
bits), then to float64, exact below 2^53: this is some four times as fast as multiplying in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.arrays import Floats, Index, Shorts
from discreet.kernels.checks import check_index, check_rows, check_shapes
from discreet.kernels.compile import kernel
from discreet.kernels.order import longest_first
from discreet.kernels.products import add_pair_square, aligned
from discreet.kernels.registers import HEIGHT, padded
from discreet.kernels.threads import claim, get_threads, share

MOST_ROWS = 256
"""Rows packed at once, however small their values: the block stays in a near cache."""
CHUNK = 4096
"""Rows of `user_moment` a thread takes at a time."""


def item_statistics(
    t_indptr: Index, t_users: Index, t_position: Index, features: Shorts, targets: Shorts
) -> tuple[Floats, Floats]:
    """`item_moments` and `item_sums` at once, in hardly more time than the moments alone.

    Returns
    -------
    H, q
        float64, items x d x d and items x d.
    """
    _check_targets(t_users, t_position, targets)
    return _statistics(t_indptr, t_users, t_position, features, targets)


def item_moments(t_indptr: Index, t_users: Index, features: Shorts) -> Floats:
    """Sum of f f^T over the users of each item, exactly.

    Parameters
    ----------
    t_indptr, t_users
        Users of each item, as given by `transpose`.
    features
        int16, users x d.

    Returns
    -------
    float64, items x d x d
        Whole numbers; every sum must stay below 2^53 for this to be exact, which the caller sees to.
    """
    return _statistics(t_indptr, t_users, np.zeros(0, np.int64), features, np.zeros(0, np.int16))[0]


def _statistics(
    t_indptr: Index, t_users: Index, t_position: Index, features: Shorts, targets: Shorts
) -> tuple[Floats, Floats]:
    m, (n, d) = len(t_indptr) - 1, features.shape
    check_rows(t_indptr, t_users, n)
    H, q = np.empty((m, d, d)), np.zeros((m, d))
    share(
        _item_statistics,
        m,
        float(t_indptr[-1]) * d * d / 8 + H.size,
        longest_first(t_indptr),
        np.ascontiguousarray(t_indptr, np.int64),
        np.ascontiguousarray(t_users, np.int32),
        np.ascontiguousarray(t_position, np.int64),
        np.ascontiguousarray(features, np.int16),
        np.ascontiguousarray(targets, np.int16),
        padded(d + 1, np.int32),
        _rows_without_overflow(features, targets),
        H,
        q,
    )
    return H, q


def item_sums(
    t_indptr: Index, t_users: Index, t_position: Index, features: Shorts, targets: Shorts
) -> Floats:
    """Sum of target times feature over the entries of each item, exactly.

    Parameters
    ----------
    t_indptr, t_users, t_position
        Entries of each item, as given by `transpose`.
    features
        int16, users x d.
    targets
        int16, one for each entry, in user order.

    Returns
    -------
    float64, items x d
        Whole numbers; every sum must stay below 2^53.
    """
    m, (n, d) = len(t_indptr) - 1, features.shape
    check_rows(t_indptr, t_users, n)
    _check_targets(t_users, t_position, targets)
    out = np.zeros((m, d))
    if out.size:
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


def item_weights(t_indptr: Index, t_users: Index, weights: NDArray[np.int32]) -> Floats:
    """Sum of the weights of each item's users, exactly (float64, whole numbers below 2^53)."""
    check_rows(t_indptr, t_users, len(weights))
    out = np.zeros(len(t_indptr) - 1)
    _item_weights(
        np.ascontiguousarray(t_indptr, np.int64),
        np.ascontiguousarray(t_users, np.int32),
        np.ascontiguousarray(weights, np.int32),
        out,
    )
    return out


def user_moment(features: Shorts) -> Floats:
    """Sum of f f^T over all rows of an int16 matrix, exactly (float64, whole numbers below 2^53)."""
    n, d = features.shape
    width = padded(d, np.int32)
    parts = np.zeros((get_threads(), width, width))
    chunks = -(-n // CHUNK)
    share(
        _user_moment,
        chunks,
        n * d * d / 8,
        np.zeros(1, np.int64),
        np.ascontiguousarray(features, np.int16),
        _rows_without_overflow(features, features[:0]),
        parts,
    )
    upper = np.triu(parts.sum(0)[:d, :d])
    total: Floats = upper + np.triu(upper, 1).T
    return total


def _check_targets(t_users: Index, t_position: Index, targets: Shorts) -> None:
    check_shapes(t_position=(t_position, t_users.shape), targets=(targets, t_users.shape))
    check_index(t_position, len(targets))


def _rows_without_overflow(features: Shorts, targets: Shorts) -> int:
    """Rows whose products can be added in int32: an even number, or one."""
    largest = max(_largest(features), 1)
    rows = min((2**31 - 1) // (largest * max(largest, _largest(targets))), MOST_ROWS)
    return max(rows // 2 * 2, 1)


def _largest(values: Shorts) -> int:
    return max(int(values.max(initial=0)), -int(values.min(initial=0)))


@kernel
def _pack(block: Any, features: Any, users: Any, start: int, stop: int) -> int:
    """Put two users' features into each int32; gives the number of pairs."""
    d = features.shape[1]
    pairs = (stop - start + 1) // 2
    for k in range(pairs):
        entry = start + 2 * k
        one = users[entry]
        if entry + 1 < stop:
            two = users[entry + 1]
            for c in range(d):
                block[k, c] = (np.int32(features[two, c]) << 16) | (np.int32(features[one, c]) & 0xFFFF)
        else:
            for c in range(d):
                block[k, c] = np.int32(features[one, c]) & 0xFFFF
    return pairs


@kernel
def _pack_targets(block: Any, targets: Any, position: Any, start: int, stop: int, column: int) -> None:
    for k in range((stop - start + 1) // 2):
        entry = start + 2 * k
        pair = np.int32(targets[position[entry]]) & 0xFFFF
        if entry + 1 < stop:
            pair |= np.int32(targets[position[entry + 1]]) << 16
        block[k, column] = pair


@kernel
def _item_statistics(
    counter: Any,
    grain: int,
    order: Any,
    t_indptr: Any,
    t_users: Any,
    t_position: Any,
    features: Any,
    targets: Any,
    width: int,
    rows: int,
    H: Any,
    q: Any,
) -> None:
    m, d = q.shape
    block = aligned(rows // 2 + 1, width, t_users)
    total = aligned(width, width, q)
    first = claim(counter, grain)
    while first < m:
        for place in range(first, min(first + grain, m)):
            j = order[place]
            total[:] = 0
            for start in range(t_indptr[j], t_indptr[j + 1], rows):
                stop = min(start + rows, t_indptr[j + 1])
                pairs = _pack(block, features, t_users, start, stop)
                if targets.size:
                    _pack_targets(block, targets, t_position, start, stop, d)
                add_pair_square(total, block, pairs, d)
            for p in range(d):
                q[j, p] = total[p, d]
            _unfold(total, H[j])
        first = claim(counter, grain)


@kernel
def _unfold(upper: Any, full: Any) -> None:
    """Copy an upper triangle to both triangles, block by block so that columns are written from a near cache."""
    d = len(full)
    for i in range(0, d, HEIGHT):
        for j in range(i, d, HEIGHT):
            for c in range(j, min(j + HEIGHT, d)):
                for p in range(i, min(i + HEIGHT, c + 1)):
                    full[c, p] = upper[p, c]
        for p in range(i, min(i + HEIGHT, d)):
            for c in range(p, d):
                full[p, c] = upper[p, c]


@kernel
def _user_moment(counter: Any, grain: int, slots: Any, features: Any, rows: int, parts: Any) -> None:
    n, d = features.shape
    width = parts.shape[1]
    everyone = np.arange(n).astype(np.int32)
    block = aligned(rows // 2 + 1, width, everyone)
    total = parts[claim(slots, 1)]
    chunk = claim(counter, 1)
    while chunk * CHUNK < n:
        for start in range(chunk * CHUNK, min((chunk + 1) * CHUNK, n), rows):
            stop = min(start + rows, (chunk + 1) * CHUNK, n)
            pairs = _pack(block, features, everyone, start, stop)
            add_pair_square(total, block, pairs, d)
        chunk = claim(counter, 1)


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
    total = np.empty(d)
    first = claim(counter, grain)
    while first < m:
        for place in range(first, min(first + grain, m)):
            j = order[place]
            total[:] = 0
            for entry in range(t_indptr[j], t_indptr[j + 1]):
                target = float(targets[t_position[entry]])
                user = t_users[entry]
                for c in range(d):
                    total[c] += target * features[user, c]
            out[j] = total
        first = claim(counter, grain)


@kernel
def _item_weights(t_indptr: Any, t_users: Any, weights: Any, out: Any) -> None:
    for j in range(len(out)):
        total = 0
        for entry in range(t_indptr[j], t_indptr[j + 1]):
            total += weights[t_users[entry]]
        out[j] = total
