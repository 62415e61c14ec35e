"""The public rule: monotone in what makes learning easier, blind to items that nobody uses, shares that sum to one."""

import itertools
import math

import numpy as np
import pytest

from discreet.methods.budgeted.public.plan import (
    Activity,
    choose_rank,
    items_in_use,
    round_shares,
)
from discreet.methods.shared.public.item_weights import ItemWeights


def crowd(users: float = 6_000, per_user: float = 150) -> Activity:
    return Activity(users, per_user, 3.0, 1.0, 0.5, np.array([per_user]), np.ones(1))


def rank(mu: float, items: float = 4_000, users: float = 6_000, per_user: float = 150) -> int:
    return choose_rank(crowd(users, per_user), items, int(items), mu)


def test_shares_sum_to_one_and_grow() -> None:
    shares = round_shares(7, 1.3)
    assert math.fsum(shares) == pytest.approx(1.0, abs=1e-12)
    assert len(shares) == 7
    assert all(later > earlier for earlier, later in itertools.pairwise(shares))


def test_rank_grows_with_budget_and_users_and_falls_with_items() -> None:
    ranks = [rank(mu) for mu in (0.01, 0.1, 0.3, 1.0, 3.0, 10.0)]
    assert ranks == sorted(ranks)
    assert ranks[0] == 0
    assert ranks[-1] >= 12
    fewer = [rank(1.0, items) for items in (500, 4_000, 100_000, 10**7)]
    assert fewer == sorted(fewer, reverse=True)
    more = [rank(1.0, users=users) for users in (100, 3_000, 10**6)]
    assert more == sorted(more)


def test_few_people_have_a_few_directions_where_one_can_be_read() -> None:
    """With 2,000 users at epsilon 1 the moment shows fewer than three; without any, a model has the trivial error."""
    ranks = [rank(0.2, 200, users) for users in (1_000, 2_000, 4_000, 20_000)]
    assert ranks == [0, 3, 5, 15]


def test_no_more_directions_than_ratings_can_place() -> None:
    assert rank(10.0, 1_000, 10**8, 8) <= 4
    assert rank(10.0, 20, 10**8, 100) <= 5


def test_items_that_nobody_takes_are_not_in_use() -> None:
    rng = np.random.default_rng(1)
    counts = 1e5 / np.arange(1, 1_001)
    sigma = np.full(11_000, 5.0)
    some = ItemWeights.first(counts, sigma[:1_000])
    noisy = ItemWeights.first(
        np.concatenate([counts, np.zeros(10_000)]) + 5.0 * rng.standard_normal(11_000), sigma
    )
    assert items_in_use(noisy) == pytest.approx(items_in_use(some), rel=0.02)
    even = ItemWeights.first(np.full(500, 40.0), np.ones(500))
    assert items_in_use(even) == 500.0
    drowned = ItemWeights.first(np.ones(500), np.full(500, 10.0))
    assert items_in_use(drowned) == 500.0
