"""Ridge solves with an offset against a dense solve in double precision, however the features lie."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import kernels
from tests.kernels import reference
from tests.kernels.worlds import sparse_rows

LENGTHS = [0, 1, 3, 7, 8, 9, 40, 0, 130, 2500]
N_ITEMS = 2600
TOLERANCE = {np.float32: 3e-6, np.float64: 1e-13}
LOOSE = {np.float32: 1e-4, np.float64: 1e-11}
"""For matrices that have lost digits before anybody solves: NumPy does no better."""
KINDS = pytest.mark.parametrize("kind", [np.float32, np.float64])


def problem(kind, d, mean=0.0, spread=1.0, exponent=0.5):
    rng = np.random.default_rng(d)
    indptr, items = sparse_rows(rng, LENGTHS, N_ITEMS)
    return {
        "indptr": indptr,
        "items": items,
        "targets": rng.random(len(items)).astype(kind),
        "features": (mean + spread * rng.standard_normal((N_ITEMS, d))).astype(kind),
        "ridge": (0.5 + rng.random(d)).astype(kind),
        "row_scale": np.maximum(LENGTHS, 1).astype(kind) ** exponent,
        "gravity": 0.02,
    }


def scores(features, offsets, coefficients):
    """What each row predicts for every item, in double precision."""
    return (
        offsets.astype(np.float64)[:, None] + coefficients.astype(np.float64) @ features.astype(np.float64).T
    )


def assert_solved(args, kind, tolerance=None):
    found = kernels.solve_offset_rows(**args)
    doubles = {name: args[name].astype(np.float64) for name in ("targets", "features", "ridge", "row_scale")}
    expected = scores(args["features"], *reference.solve_offset_rows(**args | doubles))
    assert [part.dtype for part in found] == [kind, kind]
    worst = np.abs(scores(args["features"], *found) - expected).max()
    assert worst <= (tolerance or TOLERANCE[kind]) * np.abs(expected).max()


@KINDS
@pytest.mark.parametrize("d", [0, 1, 2, 7, 8, 9, 16, 17, 24, 33, 64, 65])
def test_agrees_with_a_dense_solve_at_every_width(kind, d):
    assert_solved(problem(kind, d), kind)


@KINDS
@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
def test_penalties_grow_with_the_scale_of_their_row(kind, exponent):
    assert_solved(problem(kind, 11, exponent=exponent), kind)


@pytest.mark.parametrize(("mean", "spread"), [(1.0, 0.3), (10.0, 0.1), (-100.0, 0.01)])
def test_what_all_features_share_costs_no_digits(mean, spread):
    """With a column of ones beside such features, single precision leaves no digit right in the last case."""
    assert_solved(problem(np.float32, 16, mean, spread), np.float32)


@KINDS
def test_features_of_very_different_sizes(kind):
    args = problem(kind, 12)
    args["features"] *= np.logspace(-4, 2, 12).astype(kind)
    assert_solved(args, kind, LOOSE[kind])


@KINDS
def test_a_row_whose_entries_are_all_alike(kind):
    args = problem(kind, 9)
    start, stop = args["indptr"][8:10]
    args["features"][args["items"][start:stop]] = args["features"][0]
    args["targets"][start:stop] = 1.0
    assert_solved(args, kind, LOOSE[kind])


@KINDS
def test_features_that_are_all_alike_leave_everything_to_the_offset(kind):
    args = problem(kind, 9)
    args["features"][:] = kind(0.7)
    offsets, coefficients = kernels.solve_offset_rows(**args)
    np.testing.assert_allclose(coefficients, 0.0, atol=1e-4 if kind == np.float32 else 1e-12)
    sums = np.add.reduceat(np.append(args["targets"], 0.0), args["indptr"][:-1]) * (np.array(LENGTHS) > 0)
    expected = sums / (np.array(LENGTHS) + 0.02 * N_ITEMS)
    np.testing.assert_allclose(scores(args["features"], offsets, coefficients)[:, 0], expected, rtol=1e-5)


def test_a_row_without_entries_is_zero():
    offsets, coefficients = kernels.solve_offset_rows(**problem(np.float32, 17, mean=3.0))
    for row in (0, 7):
        assert offsets[row] == 0.0
        assert not coefficients[row].any()


def test_a_row_without_any_weight_is_zero_and_no_other_row_suffers():
    args = problem(np.float64, 9) | {"gravity": 0.0}
    offsets, coefficients = kernels.solve_offset_rows(**args)
    assert offsets[0] == 0.0
    assert not coefficients[0].any()
    assert_solved(args, np.float64)


def test_not_a_number_stays_in_its_row():
    args = problem(np.float64, 9)
    args["targets"][args["indptr"][8]] = np.nan
    offsets, coefficients = kernels.solve_offset_rows(**args)
    assert np.isnan(coefficients[8]).all()
    assert np.isnan(offsets[8])
    assert np.isfinite(np.delete(offsets, 8)).all()
    assert np.isfinite(np.delete(coefficients, 8, 0)).all()


@KINDS
def test_results_do_not_depend_on_threads(kind):
    args = problem(kind, 33)
    with kernels.threads(1):
        alone = kernels.solve_offset_rows(**args)
    with kernels.threads(3):
        together = kernels.solve_offset_rows(**args)
    assert [part.tobytes() for part in alone] == [part.tobytes() for part in together]


def test_no_rows_and_nobody():
    none = np.zeros(0)
    empty = np.zeros(0, int)
    shapes = [
        part.shape
        for part in kernels.solve_offset_rows(
            np.zeros(1, int), empty, none, np.ones((3, 2)), np.ones(2), none, 1.0
        )
    ]
    assert shapes == [(0,), (0, 2)]
    offsets, coefficients = kernels.solve_offset_rows(
        np.zeros(5, int), empty, none, np.ones((0, 2)), np.ones(2), np.ones(4), 1.0
    )
    assert not offsets.any()
    assert not coefficients.any()


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("items", np.array([0, 3]), IndexError),
        ("items", np.array([-1, 0]), IndexError),
        ("indptr", np.array([0, 3]), ValueError),
        ("targets", np.ones(3), ValueError),
        ("ridge", np.ones(3), ValueError),
        ("row_scale", np.ones(2), ValueError),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, value, error):
    args = {
        "indptr": np.array([0, 2]),
        "items": np.array([0, 1]),
        "targets": np.ones(2),
        "features": np.ones((3, 2)),
        "ridge": np.ones(2),
        "row_scale": np.ones(1),
        "gravity": 0.1,
    }
    with pytest.raises(error):
        kernels.solve_offset_rows(**(args | {name: value}))
