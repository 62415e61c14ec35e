"""Exact item statistics: against Python's whole numbers, at the borders of int16, for any order and any threads."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import kernels
from tests.kernels import reference
from tests.kernels.worlds import sparse_rows, whole

N_ITEMS = 40


def world(d, bound, seed=0):
    """Users by items with popular, rare and unused items."""
    rng = np.random.default_rng(seed)
    indptr, items = sparse_rows(rng, rng.integers(0, N_ITEMS - 3, 700), N_ITEMS - 1)
    features, targets = whole(rng, bound, 700, d), whole(rng, bound, len(items))
    return indptr, items, features, targets


def by_hand(indptr, items, features, targets, item):
    """H and q of one item in Python's unbounded integers."""
    d = features.shape[1]
    H, q = [[0] * d for _ in range(d)], [0] * d
    for user in range(len(indptr) - 1):
        for entry in range(indptr[user], indptr[user + 1]):
            if items[entry] == item:
                row = [int(x) for x in features[user]]
                for p in range(d):
                    q[p] += int(targets[entry]) * row[p]
                    for c in range(d):
                        H[p][c] += row[p] * row[c]
    return H, q


@pytest.mark.parametrize("bound", [1, 4095, 32767])
def test_exact_against_unbounded_integers(bound):
    indptr, items, features, targets = world(3, bound)
    t = kernels.transpose(indptr, items, N_ITEMS)
    H, q = kernels.item_moments(*t[:2], features), kernels.item_sums(*t, features, targets)
    for item in (0, 17, N_ITEMS - 1):
        expected_H, expected_q = by_hand(indptr, items, features, targets, item)
        assert [[int(x) for x in row] for row in H[item]] == expected_H
        assert [int(x) for x in q[item]] == expected_q


@pytest.mark.parametrize("d", [1, 2, 7, 8, 15, 16, 17, 33, 65])
def test_all_statistics_agree_with_numpy_at_every_width(d):
    indptr, items, features, targets = world(d, 4095)
    t = kernels.transpose(indptr, items, N_ITEMS)
    H, q = kernels.item_moments(*t[:2], features), kernels.item_sums(*t, features, targets)
    np.testing.assert_array_equal(H, reference.item_moments(*t[:2], features))
    np.testing.assert_array_equal(q, reference.item_sums(*t, features, targets))
    np.testing.assert_array_equal(kernels.user_moment(features), reference.user_moment(features))


@pytest.mark.parametrize("bound", [1, 4095, 5793, 23170, 32767])
def test_equal_signs_at_every_bound_do_not_overflow(bound):
    features = np.full((1000, 5), bound, np.int16)
    t = (np.array([0, 1000]), np.arange(1000, dtype=np.int32), np.arange(1000))
    targets = np.full(1000, -32768, np.int16)
    H, q = kernels.item_moments(*t[:2], features), kernels.item_sums(*t, features, targets)
    np.testing.assert_array_equal(H, np.full((1, 5, 5), 1000.0 * bound**2))
    assert (q == -32768 * bound * 1000).all()
    assert (kernels.user_moment(features) == 1000 * bound**2).all()


def test_the_lowest_int16_is_squared_right():
    features = np.full((301, 2), -32768, np.int16)
    assert (kernels.user_moment(features) == 301 * 2**30).all()


def test_bit_identical_for_any_threads_and_any_order_of_users():
    indptr, items, features, targets = world(17, 4095)
    rng = np.random.default_rng(1)
    order = rng.permutation(len(indptr) - 1)
    moved = [np.arange(indptr[u], indptr[u + 1]) for u in order]
    entries = np.concatenate(moved)
    p_indptr = np.concatenate([[0], np.cumsum([len(e) for e in moved])])
    results = []
    for k, world_ in (
        (1, (indptr, items, features, targets)),
        (2, (indptr, items, features, targets)),
        (3, (p_indptr, items[entries], features[order], targets[entries])),
    ):
        with kernels.threads(k):
            t = kernels.transpose(*world_[:2], N_ITEMS)
            H, q = kernels.item_moments(*t[:2], world_[2]), kernels.item_sums(*t, *world_[2:])
            results.append((H.tobytes(), q.tobytes(), kernels.user_moment(world_[2]).tobytes()))
    assert results[0] == results[1] == results[2]


def test_user_moment_over_many_chunks_and_none():
    features = whole(np.random.default_rng(2), 4095, 20_001, 6)
    with kernels.threads(3):
        np.testing.assert_array_equal(kernels.user_moment(features), reference.user_moment(features))
    assert not kernels.user_moment(features[:0]).any()


def test_item_weights_are_exact_beyond_int32():
    indptr, items, _, _ = world(1, 1)
    t_indptr, t_users, _ = kernels.transpose(indptr, items, N_ITEMS)
    weights = np.random.default_rng(3).integers(0, 2**31 - 1, 700).astype(np.int32)
    found = kernels.item_weights(t_indptr, t_users, weights)
    for j in range(N_ITEMS):
        assert int(found[j]) == sum(int(w) for w in weights[t_users[t_indptr[j] : t_indptr[j + 1]]])
    assert found.max() > 2**32


def test_foreign_users_and_positions_are_refused():
    features, targets = np.ones((2, 1), np.int16), np.ones(1, np.int16)
    indptr, zero = np.array([0, 1]), np.zeros(1, int)
    with pytest.raises(IndexError):
        kernels.item_moments(indptr, zero + 2, features)
    with pytest.raises(IndexError):
        kernels.item_sums(indptr, zero, zero + 1, features, targets)
    with pytest.raises(ValueError, match="targets"):
        kernels.item_sums(indptr, zero, zero, features, np.ones(2, np.int16))
