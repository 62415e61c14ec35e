"""Sums over items and over pairs, against plain Python integers modulo 2^64, on hostile tables."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from discreet import kernels
from discreet.kernels import pair_place, sums
from tests.kernels.worlds import sparse_rows

SMALL = np.iinfo(np.int16)


def plainly(indptr, items, amounts, values, m):
    """The same two sums, one number at a time."""
    singles, pairs = [0] * m, dict.fromkeys(combinations(range(m), 2), 0)
    for user, amount in enumerate(amounts.tolist()):
        row = slice(indptr[user], indptr[user + 1])
        told = list(zip(items[row].tolist(), values[row].tolist(), strict=True))
        for item, value in told:
            singles[item] += amount * value
        for (i, v), (j, w) in combinations(told, 2):
            pairs[i, j] += amount * v * w
    return [[(total + 2**63) % 2**64 - 2**63 for total in sums] for sums in (singles, list(pairs.values()))]


def pairs_of(indptr, items, amounts, values, m):
    """Added to nothing."""
    out = np.zeros(m * (m - 1) // 2, np.int64)
    kernels.add_pairs(indptr, items, amounts, values, m, out)
    return out


def world(lengths, m, amounts, values, seed=0):
    rng = np.random.default_rng(seed)
    indptr, items = sparse_rows(rng, np.array(lengths, np.int64), m)
    n = len(lengths)
    amounts = rng.choice(np.array(amounts, np.int64), n)
    return indptr, items, amounts, rng.choice(np.array(values, np.int16), len(items)), m


WORLDS = {
    "nobody": world([], 7, [1], [1]),
    "nobody who has anything": world([0, 0, 0], 7, [1], [1]),
    "nothing to take": world([0, 0], 0, [1], [1]),
    "one item": world([1, 0, 1], 1, [3], [1]),
    "two items": world([2, 1, 0, 2], 2, [5, 7], [1]),
    "clicks": world([0, 1, 2, 11, 11, 5], 11, [10, 20, 2**32], [1]),
    "graded": world([0, 1, 2, 11, 11, 5], 11, [10, 20, 2**32], range(21)),
    "all at nothing": world([11, 5, 3], 11, [10], [0]),
    "some without an amount": world([11, 5, 3, 8, 9, 1], 11, [0, 4], [1]),
    "everybody has everything": world([30] * 40, 30, [1, 2**31], [20]),
    "beyond 64 bits": world([6] * 50, 6, [2**62, -(2**63), 2**63 - 1], [SMALL.min, SMALL.max, 1, -1]),
    "below nothing": world([4, 3, 6], 6, [-5, 5], [-20, 3]),
    "long and short rows": world([200, *([1, 0, 2] * 60)], 200, [1, 9], [1, 20]),
}


@pytest.mark.parametrize("piece", [1, 40, 1 << 19])
@pytest.mark.parametrize("name", list(WORLDS))
def test_sums_are_those_of_plain_integers(name, piece, monkeypatch):
    """However many entries are worked on together."""
    monkeypatch.setattr(sums, "_PIECE", piece)
    rows = WORLDS[name]
    singles, pairs = plainly(*rows)
    for threads in (1, 2, 3):
        with kernels.threads(threads):
            assert kernels.amount_sums(*rows).tolist() == singles
            assert pairs_of(*rows).tolist() == pairs


def test_many_users_on_several_threads_give_the_same_bits():
    rng = np.random.default_rng(3)
    users, m = 900, 120
    indptr, items = sparse_rows(rng, rng.integers(0, 60, users), m)
    amounts = rng.integers(0, 2**32, users)
    for values in (np.ones(len(items), np.int16), rng.integers(0, 21, len(items)).astype(np.int16)):
        table = np.zeros((users, m), object)
        table[np.repeat(np.arange(users), np.diff(indptr)), items] = values.tolist()
        wanted = (table.T * amounts.tolist()) @ table
        found = set()
        for threads in (1, 2, 3):
            with kernels.threads(threads):
                found.add(pairs_of(indptr, items, amounts, values, m).tobytes())
        assert found == {wanted[np.triu_indices(m, 1)].astype(np.int64).tobytes()}


def test_pairs_are_added_to_what_is_there():
    """Modulo 2^64, as totals of parts of the users are."""
    indptr, items, amounts, values, m = WORLDS["graded"]
    before = np.random.default_rng(2).integers(-(2**63), 2**63 - 1, m * (m - 1) // 2)
    found = before.copy()
    kernels.add_pairs(indptr, items, amounts, values, m, found)
    assert np.array_equal(found - before, pairs_of(indptr, items, amounts, values, m))


@pytest.mark.parametrize("items", [[1, 0], [2, 2], [0, 0]])
def test_rows_that_do_not_ascend_are_refused(items):
    """An index below its row's would be one far beyond the end."""
    with pytest.raises(ValueError, match="ascending"):
        pairs_of(np.array([0, 2]), np.array(items, np.int32), np.ones(1, np.int64), np.ones(2, np.int16), 3)


def test_a_table_of_another_length_is_refused():
    indptr, items, amounts, values, m = WORLDS["graded"]
    with pytest.raises(ValueError, match="out has shape"):
        kernels.add_pairs(indptr, items, amounts, values, m, np.zeros(m, np.int64))


def test_arrays_of_other_kinds_are_read_as_they_are():
    """Unsigned and narrow row pointers, items that are every second of another array, a table in reverse memory."""
    indptr, items, amounts, values, m = WORLDS["graded"]
    wanted = pairs_of(indptr, items, amounts, values, m)
    others = np.repeat(items, 2)[::2], values[::-1].copy()[::-1]
    for pointers in (indptr.astype(np.int32), indptr.astype(np.uint64)):
        assert np.array_equal(pairs_of(pointers, others[0], amounts, others[1], m), wanted)


def test_places_of_pairs_are_counted_row_by_row():
    for m in (2, 3, 17):
        low, high = np.array(list(combinations(range(m), 2))).T
        assert pair_place(low, high, m).tolist() == list(range(m * (m - 1) // 2))
    # As 32-bit numbers the products would wrap around.
    last = np.array([99_998], np.int32), np.array([99_999], np.int32)
    assert pair_place(*last, 100_000).tolist() == [100_000 * 99_999 // 2 - 1]


@pytest.mark.parametrize("sums", [kernels.amount_sums, pairs_of])
def test_what_would_be_read_outside_is_refused(sums):
    indptr, items, amounts, values, m = WORLDS["clicks"]
    with pytest.raises(IndexError):
        sums(indptr, items, amounts, values, m - 1)
    with pytest.raises(IndexError):
        sums(indptr, -items - 1, amounts, values, m)
    with pytest.raises((IndexError, ValueError)):
        sums(indptr + 1, items, amounts, values, m)
    with pytest.raises((IndexError, ValueError)):
        sums(indptr[:-1], items, amounts[:-1], values, m)
    with pytest.raises(ValueError, match="values"):
        sums(indptr, items, amounts, values[:-1], m)
    with pytest.raises(ValueError, match="amounts"):
        sums(indptr, items, amounts[:-1], values, m)


@pytest.mark.parametrize("values", [[1], [SMALL.min, SMALL.max, 1, -1]])
def test_a_co_moment_is_exact(values):
    indptr, items, _, values, m = world([0, 6, 3, *[5] * 90], 6, [1], values)
    table = np.zeros((len(indptr) - 1, m), object)
    table[np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), items] = values.tolist()
    assert kernels.co_moment(indptr, items, values, m).tolist() == (table.T @ table).tolist()
    nobody = kernels.co_moment(np.zeros(1, np.int64), items[:0], values[:0], m)
    assert not nobody.any()
