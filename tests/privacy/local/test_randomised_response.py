"""The binary mechanism, enumerated: no pair of inputs is told apart by more than e^epsilon, and hardly less."""

from __future__ import annotations

from decimal import Decimal, getcontext
from itertools import product

import numpy as np
import pytest

from discreet.data.ratings import Ratings
from discreet.errors import BudgetInvalid
from discreet.privacy.local.randomised_response import BITS, LARGEST_EPSILON, amplification, respond, thresholds
from discreet.privacy.local.coin import Coin
from reproduction.local.channel import OneCoordinate, Round
from reproduction.local.crowd import Crowd
from reproduction.local.projection import Projected, Projection

getcontext().prec = 60
HOSTILE = np.array([-1e300, -np.inf, -1.0, -0.3, 0.0, -0.0, np.nan, 1e-18, 0.7, 1.0, np.inf, 1e300])


def ratio(epsilon: float, values: np.ndarray = HOSTILE) -> Decimal:
    """The largest likelihood ratio of any answer between any two values, exactly."""
    yes = [int(t) for t in thresholds(values, epsilon)]
    no = [(1 << BITS) - t for t in yes]
    return max(Decimal(max(side)) / Decimal(min(side)) for side in (yes, no))


@pytest.mark.parametrize("epsilon", [1e-6, 0.005, 0.05, 0.1, 0.5, 1.0, 1.6, 4.0, 10.0, 20.0, LARGEST_EPSILON])
def test_the_largest_ratio_is_e_to_the_epsilon_and_not_more(epsilon: float) -> None:
    bound = Decimal(epsilon).exp()
    assert Decimal("0.99") * bound <= ratio(epsilon) <= bound


def test_values_are_clipped_before_the_coin() -> None:
    outside, edge = thresholds(np.array([-7.0, 7.0]), 1.0), thresholds(np.array([-1.0, 1.0]), 1.0)
    np.testing.assert_array_equal(outside, edge)
    assert thresholds(np.array([np.nan]), 1.0)[0] == 1 << (BITS - 1)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0])
def test_answers_are_right_on_average(epsilon: float) -> None:
    values = np.array([-1.0, -0.25, 0.0, 0.6, 1.0])
    mean = (2.0 * thresholds(values, epsilon) / 2.0**BITS - 1.0) * amplification(epsilon)
    np.testing.assert_allclose(mean, values, atol=1e-9)
    assert amplification(epsilon) == pytest.approx(1.0 / np.tanh(epsilon / 2.0), rel=1e-9)
    bits = respond(np.repeat(values, 40_000), epsilon, Coin()).reshape(5, -1)
    assert set(np.unique(bits)) == {-1, 1}
    spread = amplification(epsilon) / 200.0
    np.testing.assert_allclose(bits.mean(axis=1) * amplification(epsilon), values, atol=5.5 * spread)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, np.nan, np.inf, 40.0, 1e-16])
def test_an_epsilon_without_meaning_is_refused(epsilon: float) -> None:
    with pytest.raises(BudgetInvalid):
        thresholds(np.zeros(1), epsilon)


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
                crowd,
                np.tile(profile, (crowd.size, 1)),
                items,
                epsilon,
                np.random.default_rng(0),
                Coin(),
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
