"""Coordinates may be chosen at will: the model stays the same, and chance is told from taste by its size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.catalogue import RatingScale
from discreet.methods.budgeted.public.frame import Frame
from discreet.methods.budgeted.public.gauge import (
    Directions,
    Spread,
    _root,
    regauge,
    seen,
    spread_of,
)
from discreet.methods.budgeted.public.plan import Activity
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


def some_spread(rng: np.random.Generator) -> Spread:
    mix = np.eye(RANK) + 0.3 * rng.standard_normal((RANK, RANK))
    users = rng.standard_normal((500, RANK)) @ mix + 0.3 * rng.standard_normal(RANK)
    rows = np.column_stack([np.ones(500), users])
    return Spread(rows.T @ rows / 500, 0.7, rng.dirichlet(np.ones(ITEMS)))


def regauged(seed: int, *, last: bool, start: bool) -> tuple[ItemSide, Spread, ItemSide, Frame, np.ndarray]:
    """Before and after."""
    rng = np.random.default_rng(seed)
    side, spread = some_side(rng), some_spread(rng)
    frame = Frame(np.eye(1 + RANK), 1.0, np.ones(RANK), start=start)
    activity = activity_of(rng.integers(5, 50, 300))
    found = Directions.of(side, spread, activity)
    return side, spread, *regauge(side, frame, spread, activity, found, 4.0, last=last)


CASES = [(last, start) for last in (False, True) for start in (False, True)]


@pytest.mark.parametrize(("last", "start"), CASES)
def test_predictions_stay_where_they_are(last: bool, start: bool) -> None:
    before, spread, after, _, change = regauged(1, last=last, start=start)
    rng = np.random.default_rng(2)
    vectors = rng.standard_normal((50, RANK))
    moved = np.linalg.solve(change, (vectors - spread.moment[0, 1:]).T).T
    users, items = rng.integers(0, 50, 300), rng.integers(0, ITEMS, 300)
    zeros = np.zeros((50, 1))
    np.testing.assert_allclose(
        after.predict(np.hstack([zeros, moved]), users, items),
        before.predict(np.hstack([zeros, vectors]), users, items),
        rtol=1e-7,
    )
    assert not np.allclose(after.factors, before.factors)


def test_an_offset_that_a_direction_stood_for_goes_to_the_offsets() -> None:
    """Everybody's vector has about the same number in one direction: what the items have there is an offset."""
    rng = np.random.default_rng(11)
    side = some_side(rng)
    vectors = rng.standard_normal((500, RANK)) * [1.0, 1.0, 0.05] + [0.0, 0.0, 2.0]
    rows = np.column_stack([np.ones(500), vectors])
    spread = Spread(rows.T @ rows / 500, 0.7, rng.dirichlet(np.ones(ITEMS)))
    start = Frame(np.eye(1 + RANK), 1.0, np.ones(RANK), start=True)
    activity = activity_of(rng.integers(5, 50, 300))
    found = Directions.of(side, spread, activity)
    after, frame, _ = regauge(side, start, spread, activity, found, 4.0, last=False)
    moved = after.offsets - side.offsets
    np.testing.assert_allclose(moved, side.factors @ vectors.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(frame.whiten[0], np.eye(1 + RANK)[0], atol=1e-12)


@pytest.mark.parametrize(("last", "start"), CASES)
def test_the_frame_fits_the_new_coordinates(last: bool, start: bool) -> None:
    """Features are white in it, and factors are uncorrelated over what people take and as strong as it says."""
    _, spread, after, frame, change = regauged(3, last=last, start=start)
    transform = np.eye(1 + RANK)
    transform[1:, 1:] = np.linalg.inv(change)
    transform[1:, 0] = -transform[1:, 1:] @ spread.moment[0, 1:]
    moment = transform @ spread.moment @ transform.T
    white = frame.whiten @ moment @ frame.whiten.T
    np.testing.assert_allclose(white, np.eye(1 + RANK), atol=1e-6)
    assert not frame.start
    assert frame.residual == pytest.approx(np.sqrt(0.7))
    strengths = (after.factors * spread.share[:, None]).T @ after.factors
    np.testing.assert_allclose(np.diag(strengths), frame.power, rtol=1e-9)
    scale = np.sqrt(np.outer(frame.power, frame.power))
    assert np.abs(strengths / scale - np.eye(RANK)).max() < 1e-6


def test_the_gauge_does_not_depend_on_the_coordinates_before() -> None:
    """Any other coordinates of the same model, and any other origin, lead to the same one, up to signs."""
    side, spread, *_ = regauged(4, last=False, start=True)
    rng = np.random.default_rng(5)
    mix, origin = rng.standard_normal((RANK, RANK)), rng.standard_normal(RANK)
    transform = np.eye(1 + RANK)
    transform[1:, 1:] = np.linalg.inv(mix)
    transform[1:, 0] = -transform[1:, 1:] @ origin
    other = replace(spread, moment=transform @ spread.moment @ transform.T)
    start, moved = (
        Frame(np.eye(1 + RANK), 1.0, np.ones(RANK), start=True),
        replace(side, factors=side.factors @ mix, offsets=side.offsets + side.factors @ origin),
    )
    activity = activity_of(np.random.default_rng(4).integers(5, 50, 300))
    found, turned = Directions.of(side, spread, activity), Directions.of(moved, other, activity)
    one, _, _ = regauge(side, start, spread, activity, found, 4.0, last=False)
    again, _, _ = regauge(moved, start, other, activity, turned, 4.0, last=False)
    np.testing.assert_allclose(np.abs(again.factors), np.abs(one.factors), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(again.offsets, one.offsets, rtol=1e-7)


def test_spread_is_read_in_plain_coordinates() -> None:
    rng = np.random.default_rng(6)
    spread, whiten = some_spread(rng), np.eye(1 + RANK) + 0.2 * rng.standard_normal((1 + RANK, 1 + RANK))
    stated = 3.0 * whiten @ spread.moment @ whiten.T
    found = spread_of(Frame(whiten, 1.0, np.ones(RANK)), stated, 0.7, spread.share)
    np.testing.assert_allclose(found.moment, spread.moment, rtol=1e-8)
    mean = spread.moment[0, 1:]
    np.testing.assert_allclose(found.covariance, spread.moment[1:, 1:] - np.outer(mean, mean), rtol=1e-6)


def test_a_root_is_a_root_and_can_always_be_inverted() -> None:
    covariance = some_spread(np.random.default_rng(7)).covariance
    root = _root(covariance)
    np.testing.assert_allclose(root @ root.T, covariance, rtol=1e-8)
    for poor in (np.zeros((3, 3)), np.diag([1.0, 0.0, -0.3])):
        assert np.isfinite(np.linalg.inv(_root(poor))).all()


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


def test_degrees_of_freedom_grow_with_power_and_counts_up_to_the_order() -> None:
    counts = np.array([1.0, 3.0, 10.0, 100.0, 1e6])
    found = np.array(
        [
            Frame(np.eye(4), 1.0, np.full(3, power)).degrees_of_freedom(counts, 2.0, 5.0)
            for power in (0.0, 0.1, 1.0, 10.0)
        ]
    )
    assert (np.diff(found, axis=0) > 0.0).all()
    assert (np.diff(found, axis=1) > 0.0).all()
    assert (found > 0.0).all()
    assert (found < 4.0).all()
    np.testing.assert_allclose(found[0], counts / (counts + 2.0))
    start = Frame(np.eye(4), 1.0, np.full(3, 10.0), start=True).degrees_of_freedom(counts, 2.0, 5.0)
    np.testing.assert_allclose(start, found[0])
    assert Frame.first(1.0).degrees_of_freedom(np.zeros(1), 2.0, 5.0)[0] == 0.0


class Crowd:
    """Users whose residuals are known: taste in the first direction of that variance, and the scatter of ratings."""

    def __init__(self, seed: int, taste: float, held: float, users: int = 2_000) -> None:
        rng = np.random.default_rng(seed)
        self.counts = np.minimum(np.exp(rng.normal(3.6, 0.7, users)).astype(int) + 5, 300)
        self.square = 0.8
        self.taste, self.held = taste, held
        lengths = np.sqrt([0.5, 0.25, 0.1])
        # Exactly uncorrelated and centred over the items, so that directions do not mix.
        basis, _ = np.linalg.qr(np.column_stack([np.ones(ITEMS), rng.standard_normal((ITEMS, RANK))]))
        self.factors = basis[:, 1:] * np.sqrt(ITEMS) * lengths
        truth = np.zeros((users, RANK))
        truth[:, 0] = np.sqrt(taste) * rng.standard_normal(users)
        indptr = np.concatenate([[0], np.cumsum(self.counts)])
        items = np.concatenate([rng.choice(ITEMS, count, replace=False) for count in self.counts])
        owners = np.repeat(np.arange(users), self.counts)
        values = 3.0 + np.einsum("ij,ij->i", truth[owners], self.factors[items])
        values += np.sqrt(self.square) * rng.standard_normal(len(items))
        self.side = ItemSide(RatingScale((1.0, 5.0)), 3.0, np.zeros(ITEMS), self.factors, Ridge(1e6, held))
        found = self.side.fold_in(indptr, items.astype(np.int32), values)[:, 1:]
        weight = np.sqrt(self.counts) / np.sqrt(self.counts).sum()
        rows = np.column_stack([np.ones(users), found])
        self.spread = Spread((rows * weight[:, None]).T @ rows, self.square, np.full(ITEMS, 1.0 / ITEMS))
        self.activity = activity_of(self.counts)

    def at_the_end(self, *, last: bool = True) -> np.ndarray:
        """Covariance that users are taken to have, in the first coordinates."""
        frame = Frame(np.eye(1 + RANK), 1.0, np.ones(RANK))
        found = Directions.of(self.side, self.spread, self.activity)
        *_, change = regauge(self.side, frame, self.spread, self.activity, found, 4.0, last=last)
        return change @ change.T


@pytest.mark.parametrize("held", [2.0, 10.0])
def test_vectors_of_users_without_taste_scatter_as_computed(held: float) -> None:
    crowd = Crowd(9, taste=0.0, held=held)
    power = np.square(crowd.factors).mean(axis=0)
    _, chance = seen(crowd.activity, power, np.full(RANK, held))
    measured = np.diag(crowd.spread.covariance)
    np.testing.assert_allclose(crowd.square * chance, measured, rtol=0.15)


@pytest.mark.parametrize("held", [2.0, 10.0])
def test_taste_shows_as_computed(held: float) -> None:
    crowd = Crowd(10, taste=1.5, held=held)
    power = np.square(crowd.factors).mean(axis=0)
    shown, chance = seen(crowd.activity, power, np.full(RANK, held))
    measured = crowd.spread.covariance[0, 0]
    assert 1.5 * shown[0] + crowd.square * chance[0] == pytest.approx(measured, rel=0.1)
    assert (shown > 0.0).all()
    assert (shown < 1.0).all()


@pytest.mark.parametrize("taste", [0.4, 1.5])
def test_in_the_end_taste_has_its_true_size_and_chance_is_shortened(taste: float) -> None:
    crowd = Crowd(11, taste=taste, held=4.0)
    found, spread = crowd.at_the_end(), crowd.spread.covariance
    assert found[0, 0] == pytest.approx(taste, rel=0.25)
    power = np.square(crowd.factors).mean(axis=0)
    shown, _ = seen(crowd.activity, power, np.full(RANK, 4.0))
    for direction in (1, 2):
        assert found[direction, direction] * shown[direction] < 0.25 * spread[direction, direction]


def test_before_the_end_no_direction_is_given_up() -> None:
    crowd = Crowd(12, taste=1.5, held=4.0)
    kept = np.diag(crowd.at_the_end(last=False)) / np.diag(crowd.spread.covariance)
    assert (kept > 0.75).all()
