"""Ridge solves of rows against NumPy, for all shapes, and their independence of everything else."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import kernels
from tests.kernels import reference
from tests.kernels.worlds import sparse_rows

LENGTHS = [0, 1, 3, 7, 8, 9, 40, 0, 130, 2500]
N_ITEMS = 2600
TOLERANCE = {np.float32: 2e-4, np.float64: 1e-11}


def problem(kind, d, seed=0):
    rng = np.random.default_rng(seed)
    indptr, items = sparse_rows(rng, LENGTHS, N_ITEMS)
    features = rng.standard_normal((N_ITEMS, d)).astype(kind)
    targets = rng.standard_normal(len(items)).astype(kind)
    ridge = (1 + rng.random(d)).astype(kind)
    return rng, {"indptr": indptr, "items": items, "targets": targets, "features": features, "ridge": ridge}


def extras(rng, args):
    d = args["features"].shape[1]
    return {
        "row_scale": 0.5 + rng.random(len(args["indptr"]) - 1),
        "gram": args["features"].T @ args["features"] / 50,
        "rhs": rng.standard_normal(d),
    }


def assert_same(args, kind):
    found = kernels.solve_rows(**args)
    expected = reference.solve_rows(
        **{k: v for k, v in args.items() if k != "features"}, features=args["features"]
    )
    assert found.dtype == kind
    scale = np.abs(expected).max() or 1.0
    np.testing.assert_allclose(found / scale, expected / scale, atol=TOLERANCE[kind])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 16, 17, 33, 64, 65])
def test_agrees_with_numpy_at_every_width(kind, d):
    _, args = problem(kind, d)
    assert_same(args, kind)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("which", ["row_scale", "gram", "rhs", "all"])
def test_every_optional_term_counts(kind, which):
    rng, args = problem(kind, 11)
    terms = extras(rng, args)
    assert_same(args | (terms if which == "all" else {which: terms[which]}), kind)


def test_empty_rows_get_the_shared_solution():
    rng, args = problem(np.float64, 5)
    terms = extras(rng, args)
    found = kernels.solve_rows(**args, gram=terms["gram"], rhs=terms["rhs"])
    shared = np.linalg.solve(terms["gram"] + np.diag(args["ridge"]), terms["rhs"])
    np.testing.assert_allclose(found[0], shared, rtol=1e-12)
    np.testing.assert_allclose(found[7], shared, rtol=1e-12)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_results_do_not_depend_on_threads_or_on_other_rows(kind):
    _, args = problem(kind, 33)
    with kernels.threads(1):
        alone = kernels.solve_rows(**args)
    with kernels.threads(3):
        together = kernels.solve_rows(**args)
    assert alone.tobytes() == together.tobytes()
    indptr, entries = args["indptr"], slice(*args["indptr"][8:10])
    one = args | {
        "indptr": np.array([0, indptr[9] - indptr[8]]),
        "items": args["items"][entries],
        "targets": args["targets"][entries],
    }
    assert kernels.solve_rows(**one)[0].tobytes() == alone[8].tobytes()


def test_a_row_that_is_not_definite_gives_zeros_and_no_other_row_suffers():
    _, args = problem(np.float64, 9)
    scale = np.ones(len(LENGTHS))
    scale[6] = -1e6
    found = kernels.solve_rows(**args, row_scale=scale)
    expected = kernels.solve_rows(**args)
    assert not found[6].any()
    np.testing.assert_array_equal(np.delete(found, 6, 0), np.delete(expected, 6, 0))


def test_not_a_number_stays_in_its_row():
    _, args = problem(np.float64, 9)
    args["targets"][args["indptr"][8]] = np.nan
    found = kernels.solve_rows(**args)
    assert np.isnan(found[8]).all()
    assert np.isfinite(np.delete(found, 8, 0)).all()


def test_no_rows_and_no_columns():
    none = np.zeros(0)
    assert kernels.solve_rows(
        np.zeros(1, int), none.astype(int), none, np.ones((3, 2)), np.ones(2)
    ).shape == (0, 2)
    assert kernels.solve_rows(np.zeros(5, int), none.astype(int), none, np.ones((3, 0)), none).shape == (4, 0)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("items", np.array([0, 3]), IndexError),
        ("items", np.array([-1, 0]), IndexError),
        ("indptr", np.array([0, 3]), ValueError),
        ("indptr", np.array([0, 3, 2]), ValueError),
        ("targets", np.ones(3), ValueError),
        ("ridge", np.ones(3), ValueError),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, value, error):
    args = {
        "indptr": np.array([0, 2]),
        "items": np.array([0, 1]),
        "targets": np.ones(2),
        "features": np.ones((3, 2)),
        "ridge": np.ones(2),
    }
    with pytest.raises(error):
        kernels.solve_rows(**(args | {name: value}))
