"""Exact integer sums over users: what the gate releases (with noise) for every item.

Features and targets are integers on a public grid, so sums can be taken in any order, by any number of threads, and
agree bit for bit. Products of two int16 are added in int32 for as many rows as cannot overflow (the sizes of the rows
at hand decide how many), then to float64, exact below 2^53: some four times as fast as multiplying in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.checks import check_index, check_rows, check_shapes
from discreet.kernels.compile import kernel
from discreet.kernels.products import add_pair_square, aligned, clear
from discreet.kernels.registers import HEIGHT, padded
from discreet.kernels.threads import claim, get_threads, share, threads
from discreet.kernels.transpose import longest_first
from discreet.types import Floats, Indices, Ints, Shorts

__all__ = ["item_moments", "item_sums", "item_weights", "user_moment"]

MOST_ROWS = 256
"""Rows packed at once, however small their values: the block stays in a near cache."""
LARGEST_INT32 = 2**31 - 1
CHUNK = 4096
"""Rows of `user_moment` a thread takes at a time."""
CUTS = 4
"""Parts of the items for each thread in `item_sums`."""
NEAR_BYTES = 1024 * 1024
"""Features and targets of the users `item_sums` goes through at once: about a second-level cache."""
FEWEST_ENTRIES = 16
"""Entries of an item among them, in the mean: else going from item to item would cost more than a far cache."""


def item_moments(t_indptr: Indices, t_users: Indices, features: Shorts) -> Floats:
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
        Ints numbers; every sum must stay below 2^53 for this to be exact, which the caller sees to.
    """
    m, (n, d) = len(t_indptr) - 1, features.shape
    check_rows(t_indptr, t_users, n)
    out = np.empty((m, d, d))
    share(
        _item_moments,
        m,
        float(t_indptr[-1]) * d * d / 8 + out.size,
        longest_first(t_indptr),
        np.ascontiguousarray(t_indptr, np.int64),
        np.ascontiguousarray(t_users, np.int32),
        np.ascontiguousarray(features, np.int16),
        _largest(features),
        padded(d, np.int32),
        out,
    )
    return out


def item_sums(
    t_indptr: Indices, t_users: Indices, t_position: Indices, features: Shorts, targets: Shorts
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
        Ints numbers; every sum must stay below 2^53.
    """
    m, (n, d) = len(t_indptr) - 1, features.shape
    check_rows(t_indptr, t_users, n)
    check_shapes(t_position=(t_position, t_users.shape), targets=(targets, t_users.shape))
    check_index(t_position, len(targets))
    out = np.zeros((m, d))
    cuts = _even_cuts(t_indptr, CUTS * get_threads())
    share(
        _item_sums,
        len(cuts) - 1,
        float(t_indptr[-1]) * d,
        cuts,
        _users_at_once(n, m, d, len(targets)),
        np.ascontiguousarray(t_indptr, np.int64),
        np.ascontiguousarray(t_users, np.int32),
        np.ascontiguousarray(t_position, np.int64),
        np.ascontiguousarray(features, np.int16),
        _largest(features).astype(np.int32),
        np.ascontiguousarray(targets, np.int16),
        out,
    )
    return out


def item_weights(t_indptr: Indices, t_users: Indices, weights: NDArray[np.int32]) -> Floats:
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
    width, number = padded(d, np.int32), get_threads()
    parts = np.zeros((number, width, width))
    chunks = -(-n // CHUNK)
    # A part for each thread: no more of them than there are parts, whatever is set for the process meanwhile.
    with threads(number):
        share(
            _user_moment,
            chunks,
            n * d * d / 8,
            np.zeros(1, np.int64),
            np.arange(n, dtype=np.int32),
            np.ascontiguousarray(features, np.int16),
            _largest(features),
            parts,
        )
    upper = np.triu(parts.sum(0)[:d, :d])
    total: Floats = upper + np.triu(upper, 1).T
    return total


def _even_cuts(t_indptr: Indices, parts: int) -> Ints:
    """Borders of items between parts with about as many entries each."""
    inner = np.searchsorted(t_indptr, np.arange(1, parts) * (int(t_indptr[-1]) / parts))
    cuts: Ints = np.concatenate([[0], np.minimum(inner, len(t_indptr) - 1), [len(t_indptr) - 1]])
    return cuts


def _users_at_once(n: int, m: int, d: int, entries: int) -> int:
    """So many users that their features and targets stay in a near cache, and items have enough entries among them."""
    each = 2.0 * d + 2.0 * entries / max(n, 1)
    blocks = min(n * each / NEAR_BYTES, entries / (FEWEST_ENTRIES * max(m, 1)))
    return max(int(n / max(blocks, 1.0)), 1)


def _largest(features: Shorts) -> Ints:
    """The largest size in each row."""
    high = features.max(axis=1, initial=0).astype(np.int64)
    largest: Ints = np.maximum(high, -features.min(axis=1, initial=0).astype(np.int64))
    return largest


@kernel
def _safe_stop(users: Any, largest: Any, start: int, end: int) -> int:
    """How far products of two features can be added in int32, whatever their signs."""
    total = 0
    stop = start
    while stop < min(end, start + MOST_ROWS):
        total += largest[users[stop]] ** 2
        if total > LARGEST_INT32:
            break
        stop += 1
    return stop


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
def _item_moments(
    counter: Any,
    grain: int,
    order: Any,
    t_indptr: Any,
    t_users: Any,
    features: Any,
    largest: Any,
    width: int,
    out: Any,
) -> None:
    m = len(out)
    block = aligned(MOST_ROWS // 2, width, t_users)
    total = aligned(width, width, out)
    first = claim(counter, grain)
    while first < m:
        for place in range(first, min(first + grain, m)):
            j = order[place]
            clear(total)
            _add_moments(total, block, t_users, t_indptr[j], t_indptr[j + 1], features, largest)
            _unfold(total, out[j])
        first = claim(counter, grain)


@kernel
def _add_moments(
    total: Any, block: Any, users: Any, start: int, end: int, features: Any, largest: Any
) -> None:
    """Upper triangle of the sum of f f^T over ``users[start:end]``."""
    while start < end:
        stop = _safe_stop(users, largest, start, end)
        pairs = _pack(block, features, users, start, stop)
        add_pair_square(total, block, pairs, features.shape[1])
        start = stop


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
def _user_moment(
    counter: Any, grain: int, slots: Any, everyone: Any, features: Any, largest: Any, parts: Any
) -> None:
    n = len(everyone)
    block = aligned(MOST_ROWS // 2, parts.shape[1], everyone)
    total = parts[claim(slots, 1)]
    chunk = claim(counter, 1)
    while chunk * CHUNK < n:
        end = min((chunk + 1) * CHUNK, n)
        _add_moments(total, block, everyone, chunk * CHUNK, end, features, largest)
        chunk = claim(counter, 1)


@kernel
def _item_sums(
    counter: Any,
    grain: int,
    cuts: Any,
    users: int,
    t_indptr: Any,
    t_users: Any,
    t_position: Any,
    features: Any,
    largest: Any,
    targets: Any,
    out: Any,
) -> None:
    """Items of a part for some users, then for the next: what is read out of order lies in a near cache by then."""
    n, d = features.shape
    part = np.zeros(d, np.int32)
    turn = claim(counter, 1)
    while turn < len(cuts) - 1:
        first, last = cuts[turn], cuts[turn + 1]
        following = t_indptr[first:last].copy()
        for stop in range(users, n + users, users):
            for j in range(first, last):
                entry, bound = following[j - first], np.int64(0)
                while entry < t_indptr[j + 1] and t_users[entry] < stop:
                    user, target = t_users[entry], np.int32(targets[t_position[entry]])
                    size = np.int64(abs(target)) * largest[user]
                    bound += size
                    if bound > LARGEST_INT32:
                        _move(part, out, j)
                        bound = size
                    for c in range(d):
                        part[c] += target * np.int32(features[user, c])
                    entry += 1
                if entry > following[j - first]:
                    _move(part, out, j)
                    following[j - first] = entry
        turn = claim(counter, 1)


@kernel
def _move(part: Any, out: Any, j: int) -> None:
    """Add what was summed in int32 to the whole and start again."""
    for c in range(len(part)):
        out[j, c] += part[c]
        part[c] = 0


@kernel
def _item_weights(t_indptr: Any, t_users: Any, weights: Any, out: Any) -> None:
    for j in range(len(out)):
        total = 0
        for entry in range(t_indptr[j], t_indptr[j + 1]):
            total += weights[t_users[entry]]
        out[j] = total
