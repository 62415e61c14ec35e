"""How far people's vectors reach along directions of items, against people who are folded in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet import Budget, BudgetedALS
from discreet.catalogue import CLICKS
from discreet.catalogue.scale import RatingScale
from discreet.data.synthetic import market
from discreet.methods.budgeted.public.people import noise_followed, people_along
from discreet.methods.budgeted.public.plan import Activity
from discreet.model.fold_in import Clicks, Ridge
from discreet.model.item_side import ItemSide
from discreet.privacy import Noise
from discreet.types import Floats

PEOPLE, ITEMS, SCATTER = 4_000, 300, 0.6


def crowd(rated: float) -> Activity:
    return Activity(float(PEOPLE), rated, 3.0, 1.0, 0.3, np.array([rated]), np.ones(1))


@pytest.mark.parametrize("rated", [10, 60])
def test_raters_reach_as_far_as_their_few_ratings_tell(rated: int) -> None:
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((ITEMS, 3)) * np.sqrt([0.5, 0.05, 0.001])
    rule = Ridge(offset_penalty=1e9, factor_penalty=2.0 * SCATTER)
    side = ItemSide(RatingScale((-100.0, 100.0)), 0.0, np.zeros(ITEMS), factors, rule)
    tastes = rng.standard_normal((PEOPLE, 3))
    items = np.argsort(rng.random((PEOPLE, ITEMS)), axis=1)[:, :rated]
    values = np.einsum("uf,urf->ur", tastes, factors[items])
    values += np.sqrt(SCATTER) * rng.standard_normal(values.shape)
    found = side.fold_in(np.arange(PEOPLE + 1) * rated, items.ravel().astype(np.int32), values.ravel())
    directions = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    for rows in (np.eye(4), directions):
        share = np.full(ITEMS, 1.0 / ITEMS)
        along = people_along(side, share, SCATTER, crowd(float(rated)), rows)
        reached = np.square(np.column_stack([np.ones(PEOPLE), found[:, 1:]]) @ rows.T).mean(axis=0)
        np.testing.assert_allclose(along, reached, rtol=0.15, atol=0.02)


def test_takers_reach_along_strong_directions_and_hardly_along_weak_ones() -> None:
    """A model of a market, with more directions than its people's clicks can place."""
    ratings = market(3_000, 400, 60_000, rng=3)
    noise = Noise.fixed_key_not_private("a")
    method = BudgetedALS(goal="rank", rank=12, rounds=4)
    side = method.fit(ratings, Budget(20.0, 1e-6), noise=noise, rng=0).model_.item_side
    assert side.doubt is not None
    assert side.popularity is not None
    found = side.fold_in(ratings.indptr, ratings.items, ratings.values)
    rows = np.column_stack([np.ones(len(found)), found[:, 1:]])
    reached = np.square(rows @ side.doubt.directions.T).mean(axis=0)
    activity = crowd(len(ratings.items) / len(found))
    along = people_along(side, side.popularity, 0.7, activity, side.doubt.directions)
    assert reached.max() > 50.0 * reached.min()
    ranks = np.argsort(np.argsort(along)), np.argsort(np.argsort(reached))
    assert np.corrcoef(*ranks)[0, 1] > 0.85
    assert 0.4 < np.median(along / reached) < 2.5


@pytest.mark.parametrize("ridge", [0.3, 10.0, 100.0])
def test_vectors_follow_the_noise_of_what_was_taken_the_less_the_stronger_the_ridge(ridge: float) -> None:
    """The same takers folded into items with noise and without: what their vectors do to scores of the true items."""
    rng, gravity = np.random.default_rng(0), 0.2
    chance = 30.0 / ITEMS * 0.5 * (1.0 + np.arange(ITEMS)[::-1] / ITEMS)
    factors = rng.standard_normal((ITEMS, 3)) * np.sqrt([0.05, 0.02, 0.01])
    offsets = chance / (chance + gravity)
    side = ItemSide(CLICKS, 0.0, offsets, factors, Clicks(gravity, ridge))
    taken = rng.random((PEOPLE, ITEMS)) < chance
    items = np.nonzero(taken)[1].astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(taken.sum(axis=1))])
    values = np.ones(len(items))
    noise = 1e-4 * np.array([1.0, 4.0, 2.0]) / chance[:, np.newaxis]
    quiet = side.fold_in(indptr, items, values)[:, 1:]
    left = 1.0 - (offsets + quiet @ factors.T)[taken]
    moved = np.zeros(ITEMS)
    for _ in range(5):
        noisy = replace(side, factors=factors + np.sqrt(noise) * rng.standard_normal(factors.shape))
        followed = noisy.fold_in(indptr, items, values)[:, 1:] - quiet
        # What all people's vectors follow alike, mostly of items that they did not take, is no part of it.
        moved += np.square((followed - followed.mean(axis=0)) @ factors.T).mean(axis=0) / 5
    said = noise_followed(
        side,
        chance / chance.sum(),
        float(np.square(left).mean()),
        crowd(float(chance.sum())),
        np.eye(4),
        np.column_stack([np.zeros(ITEMS), noise]),
    )
    assert said.shape == (ITEMS,)
    assert np.median(said / moved) == pytest.approx(1.0, rel=0.35)
    assert np.corrcoef(said, moved)[0, 1] > 0.9


def test_vectors_follow_no_more_noise_than_scores_vary_by() -> None:
    rng = np.random.default_rng(1)
    factors = 0.2 * rng.standard_normal((ITEMS, 3))
    side = ItemSide(CLICKS, 0.0, np.full(ITEMS, 0.2), factors, Clicks(0.2, 1.0))
    share = np.full(ITEMS, 1.0 / ITEMS)

    def followed(noise: float) -> Floats:
        return noise_followed(side, share, 0.6, crowd(30.0), np.eye(4), np.full((ITEMS, 4), noise))

    directions = np.column_stack([np.zeros(ITEMS), factors])
    whole = people_along(side, share, 0.6, crowd(30.0), directions)
    assert (followed(0.0) == 0.0).all()
    assert (followed(1e9) <= whole).all()
    np.testing.assert_allclose(followed(1e9), whole, rtol=1e-3)
    np.testing.assert_allclose(followed(2e-9), 2.0 * followed(1e-9), rtol=1e-3)
