"""A person's row of a Frank-Wolfe run: what is served is what the definition says, row by row."""

import numpy as np
import numpy.typing as npt
import pytest

from discreet.model.fold_in import Arrays, FrankWolfeReplay, Rows, take_step
from discreet.types import Floats


def world(n: int = 40, m: int = 25, steps: int = 6) -> tuple[Floats, npt.NDArray[np.bool_], Floats, Floats]:
    """Ratings in a full array with a mask, directions of length 1, eigenvalues (one of them passed over)."""
    rng = np.random.default_rng(0)
    seen = rng.random((n, m)) < rng.random((n, 1))
    seen[0], seen[1] = False, True
    directions = rng.standard_normal((m, steps))
    directions /= np.linalg.norm(directions, axis=0)
    eigenvalues = rng.uniform(5.0, 500.0, steps)
    eigenvalues[2] = -3.0
    return np.where(seen, 2.0 * rng.standard_normal((n, m)), 0.0), seen, directions, eigenvalues


def dense_run(
    ratings: Floats,
    seen: npt.NDArray[np.bool_],
    directions: Floats,
    eigenvalues: Floats,
    c: float,
    bound: float,
) -> Floats:
    """The whole matrix Y, step by step, as the definition has it."""
    steps = len(eigenvalues)
    rows = np.zeros_like(ratings)
    for t in range(steps):
        if eigenvalues[t] <= 0.0:
            continue
        away = np.where(seen, rows - ratings, 0.0)
        norms = np.linalg.norm(away, axis=1, keepdims=True)
        away *= np.minimum(1.0, bound / np.maximum(norms, 1e-100))
        along = away @ directions[:, t] / np.sqrt(eigenvalues[t])
        rows = (1.0 - 1.0 / steps) * rows - c / steps * np.outer(along, directions[:, t])
        norms = np.linalg.norm(np.where(seen, rows, 0.0), axis=1, keepdims=True)
        rows *= np.minimum(1.0, bound / np.maximum(norms, 1e-100))
    return rows


def replay(
    indptr: Floats,
    items: Floats,
    targets: Floats,
    directions: Floats,
    eigenvalues: Floats,
    c: float,
    bound: float,
) -> Floats:
    """Weights of each row on the directions, as a model serves them."""
    arrays = Arrays(0.0, np.zeros(len(directions)), directions)
    rule = FrankWolfeReplay(eigenvalues, c, bound)
    return rule.coefficients(arrays, Rows(indptr, items, targets), np.float64)[:, 1:]


@pytest.mark.parametrize(("c", "bound"), [(30.0, 5.0), (300.0, 3.0), (1.0, 1e9)])
def test_replayed_weights_give_the_row_of_the_definition(c: float, bound: float) -> None:
    ratings, seen, directions, eigenvalues = world()
    indptr = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    items = np.nonzero(seen)[1].astype(np.int32)
    weights = replay(indptr, items, ratings[seen], directions, eigenvalues, c, bound)
    wanted = dense_run(ratings, seen, directions, eigenvalues, c, bound)
    np.testing.assert_allclose(weights @ directions.T, wanted, rtol=1e-10, atol=1e-12)
    assert not weights[0].any()
    assert not weights[:, 2].any()


def test_training_and_serving_take_the_same_steps() -> None:
    """The fit that training keeps on the ratings alone is the served row on those items."""
    ratings, seen, directions, eigenvalues = world()
    indptr = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    items = np.nonzero(seen)[1].astype(np.int32)
    fit = np.zeros(len(items))
    for t, eigenvalue in enumerate(eigenvalues):
        fit, _, _ = take_step(
            indptr, items, ratings[seen], fit, directions[:, t], eigenvalue, len(eigenvalues), 60.0, 4.0
        )
    served = replay(indptr, items, ratings[seen], directions, eigenvalues, 60.0, 4.0) @ directions.T
    np.testing.assert_allclose(fit, served[seen], rtol=1e-10, atol=1e-12)
