"""Passes over the entries of sparse rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from discreet import kernels
from tests.kernels.worlds import sparse_rows


def world(rows: int = 3000, items: int = 90):
    rng = np.random.default_rng(rows)
    indptr, index = sparse_rows(rng, rng.integers(0, 80, rows), items)
    return rng, indptr, index, np.repeat(np.arange(rows), np.diff(indptr))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_above_offsets_is_numpys_to_the_last_bit(kind):
    rng, _, items, _ = world()
    values, offsets = rng.standard_normal(len(items)), rng.standard_normal(90)
    found = kernels.above_offsets(items, values, offsets, 0.3, kind)
    assert found.dtype == kind
    np.testing.assert_array_equal(found, (values - 0.3 - offsets[items]).astype(kind))


def test_sums_and_squares_agree_with_numpy():
    rng, indptr, items, rows = world()
    values, weights, n = rng.standard_normal(len(items)), rng.uniform(0.1, 3, 90), len(indptr) - 1
    whole = rng.integers(-(2**15), 2**15, len(items)).astype(np.int16)
    cases = [
        (kernels.row_sums(indptr, values), values),
        (kernels.row_squares(indptr, items), np.ones(len(items))),
        (kernels.row_squares(indptr, items, weights), weights[items] ** 2),
        (kernels.row_squares(indptr, items, values=values), values**2),
        (kernels.row_squares(indptr, items, weights, values), (weights[items] * values) ** 2),
        (kernels.row_squares(indptr, items, values=whole), whole.astype(np.float64) ** 2),
        (kernels.row_squares(indptr, items, weights, whole), (weights[items] * whole) ** 2),
    ]
    for found, entries in cases:
        np.testing.assert_allclose(found, np.bincount(rows, entries, n), rtol=1e-12, atol=1e-12)


def test_a_row_is_the_same_wherever_it_stands_and_however_many_threads_there_are():
    rng, indptr, items, _ = world()
    values, weights = rng.standard_normal(len(items)), rng.uniform(0.1, 3, 90)
    whole = kernels.row_squares(indptr, items, weights, values)
    sums = kernels.row_sums(indptr, values)
    for k in (1, 2, 3):
        with kernels.threads(k):
            assert kernels.row_squares(indptr, items, weights, values).tobytes() == whole.tobytes()
    for i in range(0, len(indptr) - 1, 97):
        one = slice(indptr[i], indptr[i + 1])
        ends = np.array([0, one.stop - one.start])
        shifted = np.concatenate([[0.0], values[one]])[1:]  # the same numbers at another address
        assert kernels.row_squares(ends, items[one], weights, shifted)[0] == whole[i]
        assert kernels.row_sums(ends, shifted)[0] == sums[i]


@pytest.mark.parametrize("d", [0, 1, 5, 33])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_inner_products_agree_with_numpy_on_any_number_of_threads(d, kind):
    rng, indptr, items, rows = world()
    left, right = rng.standard_normal((3000, d)).astype(kind), rng.standard_normal((90, d)).astype(kind)
    targets = rng.standard_normal(len(items))
    wanted = np.einsum("ij,ij->i", left[rows].astype(float), right[items].astype(float))
    np.testing.assert_allclose(kernels.dot_pairs(rows, items, left, right), wanted, atol=1e-12)
    found = {kernels.residuals(indptr, items, targets, left, right).tobytes()}
    np.testing.assert_allclose(np.frombuffer(*found), targets - wanted, atol=1e-12)
    for k in (1, 3):
        with kernels.threads(k):
            found.add(kernels.residuals(indptr, items, targets, left, right).tobytes())
    assert len(found) == 1


@pytest.mark.parametrize("most", [1, 3, 50])
def test_the_lowest_of_each_row_are_kept_of_equal_ones_the_first(most: int) -> None:
    rng, indptr, _, _ = world(400)
    numbers = rng.integers(0, 5, indptr[-1]).astype(np.float64)
    for strange in (np.nan, np.inf, -np.inf):
        numbers[rng.random(len(numbers)) < 0.05] = strange
    kept = kernels.lowest_entries(indptr, numbers, most)
    for start, stop in pairwise(indptr):
        wanted = np.argsort(numbers[start:stop], kind="stable")[:most]
        assert set(np.flatnonzero(kept[start:stop])) == set(wanted)


def test_entries_are_turned_from_user_order_to_item_order():
    _, indptr, items, rows = world(50)
    t_indptr, t_users, t_position = kernels.transpose(indptr, items, 93)
    assert [t_indptr.dtype, t_users.dtype, t_position.dtype] == [np.int64, np.int32, np.int64]
    np.testing.assert_array_equal(np.diff(t_indptr), np.bincount(items, minlength=93))
    np.testing.assert_array_equal(t_position, np.argsort(items, kind="stable"))
    np.testing.assert_array_equal(t_users, rows[t_position])
    nothing = kernels.transpose(np.zeros(4, int), np.zeros(0, int), 3)
    assert [part.tolist() for part in nothing] == [[0, 0, 0, 0], [], []]


def test_truncation_is_toward_zero():
    rng, indptr, _, rows = world()
    values, scales = rng.uniform(-1, 1, len(rows)), rng.uniform(0, 2**14, len(indptr) - 1)
    found = kernels.truncated(indptr, values, scales)
    assert found.dtype == np.int16
    np.testing.assert_array_equal(found, np.trunc(values * scales[rows]))
    assert (np.abs(found) <= np.abs(values * scales[rows])).all()


def test_nothing_unusable_is_hidden_in_a_sum():
    for bad in (np.nan, np.inf):
        values = np.ones(40)
        values[7] = bad
        found = kernels.row_squares(np.array([0, 20, 40]), np.zeros(40, np.int32), values=values)
        assert not np.isfinite(found[0])
        assert found[1] == 20.0


def test_what_lies_outside_is_refused():
    ends, items, one = np.array([0, 1, 2]), np.array([0, 2]), np.ones(2)
    with pytest.raises(IndexError):
        kernels.above_offsets(items, one, one)
    with pytest.raises(IndexError):
        kernels.row_squares(ends, items, one)
    with pytest.raises(IndexError):
        kernels.transpose(ends, items, 2)
    with pytest.raises(IndexError):
        kernels.dot_pairs(items, items, one[:, None], one[:, None])
    with pytest.raises(IndexError):
        kernels.residuals(ends, items, one, one[:, None], one[:, None])
    with pytest.raises(ValueError, match="coefficients"):
        kernels.residuals(ends, items, one, one[:1, None], one[:, None])
    with pytest.raises(ValueError, match="numbers"):
        kernels.lowest_entries(ends, np.zeros(3), 1)
    with pytest.raises(ValueError, match="values"):
        kernels.row_squares(ends, items, values=np.ones(3))
    with pytest.raises(ValueError, match="number of entries"):
        kernels.row_sums(ends, np.ones(3))
    with pytest.raises(ValueError, match="scales"):
        kernels.truncated(ends, one, np.ones(3))


@pytest.mark.parametrize(
    ("n", "d", "width"), [(1, 1, 1), (7, 5, 3), (300, 17, 17), (2_000, 65, 33), (0, 4, 4)]
)
def test_a_matrix_applied_to_rows_agrees_with_numpy(n: int, d: int, width: int) -> None:
    rng = np.random.default_rng(0)
    rows, matrix = rng.standard_normal((n, d)), rng.standard_normal((width, d))
    np.testing.assert_allclose(kernels.transform_rows(rows, matrix), rows @ matrix.T, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("d", [3, 17, 33, 129])
def test_a_row_does_not_depend_on_the_others(d: int) -> None:
    rng = np.random.default_rng(1)
    rows, matrix = rng.standard_normal((500, d)), rng.standard_normal((d, d))
    whole = kernels.transform_rows(rows, matrix)
    for n in (1, 2, 3, 5, 8, 100, 499):
        np.testing.assert_array_equal(kernels.transform_rows(rows[:n], matrix), whole[:n])
    np.testing.assert_array_equal(kernels.transform_rows(rows[::-1], matrix), whole[::-1])
    with kernels.threads(2):
        np.testing.assert_array_equal(kernels.transform_rows(rows, matrix), whole)


def test_the_matrix_must_fit_the_rows() -> None:
    with pytest.raises(ValueError, match="matrix"):
        kernels.transform_rows(np.ones((3, 2)), np.ones((2, 3)))


@pytest.mark.parametrize("width", [1, 7, 128, 8_192, 9_000])
def test_a_rows_length_does_not_depend_on_its_neighbours(width: int) -> None:
    """With `np.einsum` a row of more than 8,192 entries is rounded differently when it is alone."""
    rows = np.random.default_rng(width).standard_normal((5, width))
    together = kernels.square_norms(rows)
    np.testing.assert_allclose(together, (rows**2).sum(axis=1), rtol=1e-13)
    for i in range(5):
        assert kernels.square_norms(rows[i : i + 1])[0] == together[i]
        assert kernels.square_norms(rows[: i + 1])[i] == together[i]
