"""Last bits of the arithmetic stay last bits: no direction changes its sign, and meets other noise, because of them."""

from __future__ import annotations

import numpy as np

from discreet import Budget, BudgetedALS, Ratings
from discreet.data import synthetic
from discreet.privacy.gaussian.noise import Noise


def test_ratings_that_differ_in_the_last_bit_make_nearly_the_same_model() -> None:
    ratings = synthetic.market(1_500, 60, 25_000, rng=0)
    nudged = Ratings.from_arrays(
        ratings.indptr,
        ratings.items,
        np.nextafter(ratings.values, 3.0),
        catalogue=ratings.catalogue,
        rating_range=ratings.rating_range,
    )
    sides = [
        BudgetedALS()
        .fit(one, Budget(8.0, 1e-6), rng=0, noise=Noise.fixed_key_not_private("a"))
        .model_.item_side
        for one in (ratings, nudged)
    ]
    assert sides[0].rank == sides[1].rank > 2
    size = np.abs(sides[0].factors).max()
    assert 0.0 < np.abs(sides[0].factors - sides[1].factors).max() < 1e-3 * size
