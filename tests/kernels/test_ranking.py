"""Lists of best items: exact order, ties, exclusions and shortfalls."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import kernels
from tests.kernels import reference


def small_world(seed, rows, m, d, excluded, allowed_share):
    """Whole-number scores: sums are exact, so ties are ties whatever the order of summation."""
    rng = np.random.default_rng(seed)
    coefficients, factors = rng.integers(-2, 3, (rows, d)) * 1.0, rng.integers(-2, 3, (m, d)) * 1.0
    offsets = rng.integers(-2, 3, m) * 1.0
    lengths = rng.integers(0, excluded + 1, rows)
    options = {}
    if excluded:
        options["exclude_indptr"] = np.concatenate([[0], np.cumsum(lengths)])
        options["exclude_items"] = rng.integers(0, m, lengths.sum())
    if allowed_share < 1:
        options["allowed"] = rng.random(m) < allowed_share
    return coefficients, factors, offsets, options


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    rows=st.integers(0, 19),
    m=st.integers(1, 90),
    d=st.integers(0, 5),
    n=st.integers(0, 40),
    excluded=st.sampled_from([0, 3, 100]),
    allowed_share=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_agrees_with_sorting_everything(seed, rows, m, d, n, excluded, allowed_share):
    coefficients, factors, offsets, options = small_world(seed, rows, m, d, excluded, allowed_share)
    found = kernels.top_n(coefficients, factors, offsets, n, **options)
    expected = reference.top_n(coefficients, factors, offsets, n, **options)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    assert found[0].dtype == np.int32


@pytest.mark.parametrize("n", [1, 10, 300])
def test_real_scores_in_falling_order(n):
    rng = np.random.default_rng(n)
    coefficients, factors, offsets = (
        rng.standard_normal((21, 13)),
        rng.standard_normal((1000, 13)),
        rng.random(1000),
    )
    index, scores = kernels.top_n(coefficients, factors, offsets, n)
    expected = reference.top_n(coefficients, factors, offsets, n)
    np.testing.assert_array_equal(index, expected[0])
    np.testing.assert_allclose(scores, expected[1], atol=1e-12)
    assert (np.diff(scores) <= 0).all()


def test_equal_items_tie_bit_for_bit_wherever_they_stand():
    rng = np.random.default_rng(0)
    factors = np.tile(rng.standard_normal(37), (101, 1))
    index, scores = kernels.top_n(rng.standard_normal((9, 37)), factors, np.zeros(101), 101)
    assert (index == np.arange(101)).all()
    assert (scores == scores[:, :1]).all()


def test_one_row_alone_is_ranked_as_in_a_batch():
    rng = np.random.default_rng(3)
    coefficients, factors, offsets = (
        rng.standard_normal((40, 8)),
        rng.standard_normal((500, 8)),
        rng.random(500),
    )
    results = []
    for k in (1, 3):
        with kernels.threads(k):
            results.append(kernels.top_n(coefficients, factors, offsets, 20))
    assert results[0][1].tobytes() == results[1][1].tobytes()
    alone = kernels.top_n(coefficients[29:30], factors, offsets, 20)
    assert alone[1][0].tobytes() == results[0][1][29].tobytes()
    assert (alone[0][0] == results[0][0][29]).all()


def test_nan_scores_are_never_given_and_infinite_ones_are():
    factors = np.array([[np.nan], [1.0], [-np.inf], [np.inf]])
    index, scores = kernels.top_n(np.ones((1, 1)), factors, np.zeros(4), 4)
    assert index.tolist() == [[3, 1, 2, -1]]
    np.testing.assert_array_equal(scores, [[np.inf, 1.0, -np.inf, np.nan]])


def test_wrong_arrays_are_refused():
    one = np.ones((1, 1))
    with pytest.raises(ValueError, match="together"):
        kernels.top_n(one, one, np.zeros(1), 1, exclude_indptr=np.array([0, 0]))
    with pytest.raises(IndexError):
        kernels.top_n(one, one, np.zeros(1), 1, exclude_indptr=np.array([0, 1]), exclude_items=np.array([1]))
    with pytest.raises(ValueError, match="offsets"):
        kernels.top_n(one, one, np.zeros(2), 1)
    with pytest.raises(ValueError, match="coefficients"):
        kernels.top_n(np.ones((1, 2)), one, np.zeros(1), 1)
