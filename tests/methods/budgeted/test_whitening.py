"""Coordinates may be chosen at will: the model stays the same, and chance is told from taste by its size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.catalogue import RatingScale
from discreet.methods.budgeted.public.plan import Activity
from discreet.methods.budgeted.public.whitening import Frame, Spread, whitened
from discreet.model.fold_in import Ridge
from discreet.model.item_side import ItemSide

RANK, ITEMS = 3, 400


def activity_of(counts: np.ndarray) -> Activity:
    sizes, users = np.unique(counts, return_counts=True)
    return Activity(len(counts), counts.mean(), 3.0, 1.0, 0.2, sizes.astype(float), users / users.sum())


def some_side(rng: np.random.Generator) -> ItemSide:
    factors = rng.standard_normal((ITEMS, RANK)) @ rng.standard_normal((RANK, RANK))
    offsets = rng.uniform(0.01, 0.3, ITEMS)
    return ItemSide(RatingScale((1.0, 5.0)), 3.0, offsets, factors, Ridge(1.0, 2.0))


def spread_with(rows: np.ndarray, rng: np.random.Generator) -> Spread:
    return Spread(rows.mean(axis=0), np.cov(rows.T, bias=True), 0.7, rng.dirichlet(np.ones(ITEMS)))


def some_spread(rng: np.random.Generator) -> Spread:
    mix = np.eye(RANK) + 0.3 * rng.standard_normal((RANK, RANK))
    users = rng.standard_normal((500, RANK)) @ mix + 0.3 * rng.standard_normal(RANK)
    return spread_with(users, rng)


def change_of(before: ItemSide, after: ItemSide) -> np.ndarray:
    """What factors were multiplied by."""
    return np.linalg.lstsq(before.factors, after.factors, rcond=None)[0]


def moved(seed: int, *, last: bool, start: bool) -> tuple[ItemSide, Spread, ItemSide, Frame]:
    """Before and after."""
    rng = np.random.default_rng(seed)
    side, spread = some_side(rng), some_spread(rng)
    frame = Frame(np.eye(1 + RANK), 1.0, np.ones(RANK), start=start)
    activity = activity_of(rng.integers(5, 50, 300))
    return side, spread, *whitened(side, frame, spread, activity, 4.0, last=last)


CASES = [(last, start) for last in (False, True) for start in (False, True)]


@pytest.mark.parametrize(("last", "start"), CASES)
def test_predictions_stay_where_they_are(last: bool, start: bool) -> None:
    before, spread, after, _ = moved(1, last=last, start=start)
    rng = np.random.default_rng(2)
    vectors = rng.standard_normal((50, RANK))
    others = np.linalg.solve(change_of(before, after), (vectors - spread.mean).T).T
    users, items = rng.integers(0, 50, 300), rng.integers(0, ITEMS, 300)
    zeros = np.zeros((50, 1))
    np.testing.assert_allclose(
        after.predict(np.hstack([zeros, others]), users, items),
        before.predict(np.hstack([zeros, vectors]), users, items),
        rtol=1e-7,
    )
    assert not np.allclose(after.factors, before.factors)


@pytest.mark.parametrize(("last", "start"), CASES)
def test_the_frame_fits_the_new_coordinates(last: bool, start: bool) -> None:
    """Features are white in it, and factors are uncorrelated over what people take and as strong as it says."""
    before, spread, after, frame = moved(3, last=last, start=start)
    back, moment = np.linalg.inv(change_of(before, after)), np.eye(1 + RANK)
    moment[1:, 1:] = back @ spread.covariance @ back.T
    white = frame.whiten @ moment @ frame.whiten.T
    np.testing.assert_allclose(white, np.eye(1 + RANK), atol=1e-6)
    assert not frame.start
    assert frame.residual == pytest.approx(np.sqrt(0.7))
    strengths = (after.factors * spread.share[:, None]).T @ after.factors
    np.testing.assert_allclose(np.diag(strengths), frame.power, rtol=1e-9)
    scale = np.sqrt(np.outer(frame.power, frame.power))
    assert np.abs(strengths / scale - np.eye(RANK)).max() < 1e-6


@pytest.mark.parametrize("poor", [np.zeros((3, 3)), np.diag([1.0, 0.0, -0.3])])
def test_directions_that_do_not_occur_break_nothing(poor: np.ndarray) -> None:
    rng = np.random.default_rng(7)
    side, spread = some_side(rng), replace(some_spread(rng), covariance=poor)
    frame = Frame(np.eye(1 + RANK), 1.0, np.ones(RANK))
    after, then = whitened(side, frame, spread, activity_of(rng.integers(5, 50, 300)), 4.0, last=True)
    assert np.isfinite(after.factors).all()
    assert np.isfinite(then.unwhiten).all()


def test_degrees_of_freedom_are_those_of_a_ridge_regression() -> None:
    """Trace of the matrix that turns ratings into fitted ratings, over random items."""
    rng = np.random.default_rng(8)
    power, counts = np.array([0.3, 1.0, 4.0]), np.array([10.0, 30.0, 200.0])
    frame = Frame(np.eye(4), 1.0, power)
    used = frame.degrees_of_freedom(counts, 2.0, 5.0)
    for count, expected in zip(counts, used, strict=True):
        traces = []
        for _ in range(40):
            signs = rng.choice([-1.0, 1.0], (int(count), 3))
            rows = np.column_stack([np.ones(int(count)), signs * np.sqrt(power)])
            ridge = np.diag([2.0, 5.0, 5.0, 5.0])
            traces.append(np.trace(np.linalg.solve(rows.T @ rows + ridge, rows.T @ rows)))
        assert np.mean(traces) == pytest.approx(expected, rel=0.1)
