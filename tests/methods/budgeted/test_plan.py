"""The public rule: monotone in what makes learning easier, and shares that sum to one."""

import math

import pytest

from discreet.methods.budgeted.public.plan import Activity, Plan, choose_rank, difficulty


def crowd(users: float = 6_000, per_user: float = 150) -> Activity:
    return Activity(users, per_user, 1.0, 0.5)


def test_shares_sum_to_one_and_grow() -> None:
    plan = Plan.make(rank=5, rounds=7, first=0.2, growth=1.3)
    assert math.fsum(plan.shares) == pytest.approx(1.0, abs=1e-12)
    assert plan.rounds == 7
    assert all(later > earlier for earlier, later in zip(plan.shares[1:], plan.shares[2:], strict=False))


@pytest.mark.parametrize("growth", [1e-6, 1.0, 100.0])
def test_no_growth_is_too_extreme(growth: float) -> None:
    plan = Plan.make(rank=5, rounds=1000, first=0.2, growth=growth)
    assert math.fsum(plan.shares) == pytest.approx(1.0, abs=1e-12)
    assert min(plan.shares) > 0


def test_rank_zero_puts_everything_into_the_offsets() -> None:
    assert Plan.make(rank=0, rounds=9, first=0.2, growth=1.3).shares == (1.0,)


def test_difficulty_is_the_noise_of_an_average_item() -> None:
    """Checked against the mechanism itself: weight 1/sqrt(k) per rating, n k / m users an item, noise 1/mu."""
    users, per_user, items, mu = 5_000.0, 64.0, 400, 0.7
    weight_of_item = users * per_user / items / math.sqrt(per_user)
    assert difficulty(crowd(users, per_user), items, mu) == pytest.approx(1 / mu / weight_of_item)


@pytest.mark.parametrize("explicit", [True, False])
def test_rank_grows_with_budget_and_users_and_falls_with_items(explicit: bool) -> None:
    mus = [0.01, 0.1, 0.3, 1.0, 3.0, 10.0]
    ranks = [choose_rank(crowd(), 4_000, mu, explicit=explicit) for mu in mus]
    assert ranks == sorted(ranks)
    assert ranks[0] == 0
    assert ranks[-1] >= 12
    fewer = [choose_rank(crowd(), items, 1.0, explicit=explicit) for items in (500, 4_000, 100_000, 10**7)]
    assert fewer == sorted(fewer, reverse=True)
    more = [choose_rank(crowd(users), 4_000, 1.0, explicit=explicit) for users in (100, 3_000, 10**6)]
    assert more == sorted(more)


def test_no_more_directions_than_ratings_can_place() -> None:
    assert choose_rank(crowd(10**8, 8), 1_000, 10.0, explicit=True) <= 4
    assert choose_rank(crowd(10**8, 100), 20, 10.0, explicit=True) <= 5
