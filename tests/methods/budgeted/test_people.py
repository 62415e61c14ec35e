"""How far people's vectors reach along directions of items, against people who are folded in."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import Budget, BudgetedALS
from discreet.catalogue.scale import RatingScale
from discreet.data.synthetic import market
from discreet.methods.budgeted.public.people import people_along
from discreet.methods.budgeted.public.plan import Activity
from discreet.model.fold_in import Ridge
from discreet.model.item_side import ItemSide
from discreet.privacy import Noise

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
