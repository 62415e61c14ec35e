"""Small worlds that train in a second."""

import pytest

from discreet import Ratings
from discreet.data import synthetic


@pytest.fixture(scope="session")
def market() -> Ratings:
    return synthetic.market(2_000, 200, 80_000, rng=0)


@pytest.fixture(scope="session")
def clicks(market: Ratings) -> Ratings:
    liked = market.keep(market.values >= 3.5)
    return Ratings.from_arrays(
        liked.indptr,
        liked.items,
        liked.values * 0 + 1.0,
        catalogue=liked.catalogue,
        rating_range=None,
        user_ids=liked.user_ids,
    )
