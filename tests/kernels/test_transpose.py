"""Entries turned from user order to item order."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import kernels
from discreet.kernels.transpose import longest_first
from tests.kernels import reference
from tests.kernels.worlds import sparse_rows


def test_transpose_agrees_with_numpy():
    rng = np.random.default_rng(0)
    indptr, items = sparse_rows(rng, [0, 5, 3, 0, 9, 1], 12)
    for found, expected in zip(
        kernels.transpose(indptr, items, 14), reference.transpose(indptr, items, 14), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


def test_transpose_of_nothing():
    t_indptr, t_users, t_position = kernels.transpose(np.zeros(4, int), np.zeros(0, int), 3)
    assert t_indptr.tolist() == [0, 0, 0, 0]
    assert len(t_users) == len(t_position) == 0


def test_transpose_refuses_an_item_beyond_the_last():
    with pytest.raises(IndexError):
        kernels.transpose(np.array([0, 1]), np.array([3]), 3)


def test_longest_rows_come_first():
    assert longest_first(np.array([0, 2, 2, 7, 8])).tolist() == [2, 0, 3, 1]
