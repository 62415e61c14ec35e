"""The channels of the papers, enumerated: no pair of users is told apart by more than e^epsilon, and hardly less."""

from __future__ import annotations

from decimal import Decimal
from itertools import product

import numpy as np
import pytest

from discreet.data.ratings import Ratings
from discreet.privacy.local.rotated import Coin
from reproduction.local.channel import OneCoordinate, Projected, Projection, Round
from reproduction.local.crowd import Crowd
from tests.reproduction.ratios import ratio


def users() -> Ratings:
    """Every way to rate two of three items with 1 or 5, or to leave them out: hostile neighbours of each other."""
    rows = list(product((0.0, 1.0, 5.0), repeat=3))
    items = [[j for j, value in enumerate(row) if value] for row in rows]
    values = [[value for value in row if value] for row in rows]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in items])])
    flat = np.array([j for row in items for j in row])
    return Ratings.from_arrays(
        indptr,
        flat,
        np.concatenate([np.array(row) for row in values]),
        catalogue=[1, 2, 3],
        rating_range=(1, 5),
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("kind", ["one coordinate", "projected"])
def test_whole_messages_enumerated_for_every_coordinate(kind: str, epsilon: float) -> None:
    """All users that there can be, all coordinates, all profiles of a grid: the worst pair of users at each."""
    crowd, items = Crowd.of(users()), np.array([[1.0, 0.5], [-0.5, 2.0], [0.25, -3.0]])
    channel = (
        OneCoordinate() if kind == "one coordinate" else Projected(Projection(2, 3, np.random.default_rng(0)))
    )
    size = 3 if kind == "one coordinate" else 2
    bound, reached = Decimal(epsilon).exp(), Decimal(0)
    for place, factor in product(range(size), range(2)):
        found = []
        for profile in ([1.0, 1.0], [1.0, -1.0], [-2.0, 3.0], [0.0, 0.1], [50.0, -50.0]):
            asked = Round(
                crowd, np.tile(profile, (crowd.size, 1)), items, epsilon, np.random.default_rng(0), Coin()
            )
            at = np.full(crowd.size, place), np.full(crowd.size, factor)
            found.append(channel.values(asked, *at))
        worst = ratio(epsilon, np.concatenate(found))
        assert worst <= bound
        assert worst >= Decimal("0.99") * bound, (place, factor)  # the last coordinate as much as the first
        reached = max(reached, worst)
    assert reached >= Decimal("0.99") * bound


def test_the_value_asked_for_is_the_gradient_at_that_coordinate() -> None:
    crowd = Crowd.of(users())
    rng = np.random.default_rng(3)
    items, profiles = rng.normal(size=(3, 2)), rng.normal(size=(crowd.size, 2))
    dense = np.zeros((crowd.size, 3))
    dense[crowd.rows, crowd.items] = crowd.values
    exact = -2.0 * ((dense > 0) * (dense - profiles @ items.T))[:, :, np.newaxis] * profiles[:, np.newaxis, :]
    asked = Round(crowd, profiles, items, 1.0, rng, Coin())
    projection = Projection(2, 3, rng)
    reduced = np.einsum("qj,ijl->iql", projection.matrix, exact)
    for factor in range(2):
        wanted = np.full(crowd.size, factor)
        for item in range(3):
            values = OneCoordinate().values(asked, np.full(crowd.size, item), wanted)
            np.testing.assert_allclose(values, exact[:, item, factor], atol=1e-12)
        for row in range(2):
            values = Projected(projection).values(asked, np.full(crowd.size, row), wanted)
            np.testing.assert_allclose(values, reduced[:, row, factor], atol=1e-5)


def test_the_coordinate_does_not_depend_on_the_ratings() -> None:
    """Two crowds with other ratings are asked the same coordinates, from the same public randomness."""
    crowd = Crowd.of(users())
    other = Crowd(np.zeros(crowd.size + 1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0), 3)
    seen = []
    for one in (crowd, other):
        public = np.random.default_rng(9)
        asked = Round(one, np.ones((one.size, 2)), np.ones((3, 2)), 1.0, public, Coin())
        OneCoordinate().gradient(asked)
        seen.append(public.integers(0, 1 << 62))
    assert seen[0] == seen[1]
