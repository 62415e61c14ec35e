"""Synthetic worlds have the properties they are described with."""

from collections import Counter
from itertools import permutations

import numpy as np
import numpy.typing as npt
import pytest

from discreet.data import Ratings, synthetic
from discreet.data.synthetic import draw_weighted
from discreet.errors import SettingsInvalid
from discreet.types import Floats


def users_of(ratings: Ratings) -> npt.NDArray[np.int64]:
    return np.repeat(np.arange(ratings.n_users), np.diff(ratings.indptr))


def assert_well_formed(ratings: Ratings) -> None:
    """Distinct pairs, sorted, inside the range: what the readers guarantee and worlds build by hand."""
    keys = users_of(ratings) * ratings.n_items + ratings.items
    assert (np.diff(keys) > 0).all()
    assert ratings.items.min() >= 0
    assert ratings.items.max() < ratings.n_items
    assert ratings.rating_range is not None
    assert ratings.values.min() >= ratings.rating_range[0]
    assert ratings.values.max() <= ratings.rating_range[1]
    assert (ratings.indptr.dtype, ratings.items.dtype, ratings.values.dtype) == (
        np.int64,
        np.int32,
        np.float64,
    )
    assert ratings.indptr[-1] == ratings.n_ratings == len(ratings.values)
    assert all(type(bound) is float for bound in ratings.rating_range)


def head_share(ratings: Ratings) -> float:
    counts = np.sort(np.bincount(ratings.items, minlength=ratings.n_items))[::-1]
    return float(counts[: round(0.2 * ratings.n_items)].sum() / ratings.n_ratings)


def chi_square(counts: Floats, expected: Floats) -> float:
    return float(((counts - expected) ** 2 / expected).sum())


# --- low rank -------------------------------------------------------------------------------------------


def test_low_rank_is_a_product_of_orthogonal_matrices() -> None:
    train, test = synthetic.low_rank(60, 40, rank=5, rng=0)  # so small that every entry is observed
    assert train.n_ratings == 60 * 40
    assert test.n_ratings == 0
    singular = np.linalg.svd(train.values.reshape(60, 40), compute_uv=False)
    assert np.allclose(singular[:5], singular[0])
    assert np.allclose(singular[5:], 0, atol=1e-9)


def test_low_rank_observes_as_the_paper_says() -> None:
    n, m = 4_000, 1_000
    train, test = synthetic.low_rank(n, m, rng=1)
    assert_well_formed(train)
    assert_well_formed(test)
    chance = 20 * np.log(n) / m
    counts = np.diff(train.indptr)
    assert abs(counts.mean() - m * chance) < 5 * np.sqrt(m * chance * (1 - chance) / n)
    assert counts.var() == pytest.approx(m * chance * (1 - chance), rel=0.15)
    by_item = np.bincount(train.items, minlength=m)
    assert by_item.var() == pytest.approx(n * chance * (1 - chance), rel=0.25)
    assert test.n_ratings / train.n_ratings == pytest.approx(0.1 * (1 - chance), rel=0.05)
    assert train.values.std() == pytest.approx(1, abs=2e-3)
    assert test.values.std() == pytest.approx(1, abs=2e-2)
    assert np.abs(train.values).max() < 11.0  # none was clipped, which would be noise
    assert np.array_equal(train.user_ids, test.user_ids)
    seen = np.isin(users_of(test) * m + test.items, users_of(train) * m + train.items)
    assert not seen.any()


def test_low_rank_refuses_impossible_ranks() -> None:
    for rank in (0, 11):
        with pytest.raises(SettingsInvalid, match="rank"):
            synthetic.low_rank(100, 10, rank=rank)


# --- market ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small_market() -> Ratings:
    return synthetic.market(2_000, 500, 100_000, rng=0)


def test_market_is_skewed(small_market: Ratings) -> None:
    assert_well_formed(small_market)
    assert (small_market.n_users, small_market.n_items, small_market.n_ratings) == (2_000, 500, 100_000)
    assert 0.82 < head_share(small_market) < 0.88
    counts = np.sort(np.diff(small_market.indptr))
    assert counts[0] >= 1
    assert counts[-200:].sum() > 0.25 * counts.sum()  # heavy users
    assert np.median(counts) < 0.8 * counts.mean()  # and many light ones
    assert set(np.unique(small_market.values)) == {1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5}
    by_item = np.bincount(small_market.items, minlength=500)
    assert (
        abs(np.corrcoef(by_item, np.arange(500))[0, 1]) < 0.15
    )  # the ids do not tell how popular an item is


@pytest.mark.parametrize("size", [(0, 10, 10), (10, 0, 10), (10, 10, 9), (10, 10, 31)])
def test_market_refuses_impossible_sizes(size: tuple[int, int, int]) -> None:
    with pytest.raises(SettingsInvalid, match="ratings do not fit"):
        synthetic.market(*size)


# --- draws ----------------------------------------------------------------------------------------------


def expected_pairs(weights: Floats) -> dict[tuple[int, ...], float]:
    """Chance of each pair of items in two draws without replacement."""
    chances: Counter[tuple[int, ...]] = Counter()
    for first, second in permutations(range(len(weights)), 2):
        chance = weights[first] / weights.sum() * weights[second] / (weights.sum() - weights[first])
        chances[tuple(sorted((first, second)))] += float(chance)
    return chances


@pytest.mark.parametrize("lift", [0.0, 0.7])
def test_weighted_draws_follow_popularity_and_taste(lift: float) -> None:
    users = 30_000
    weights, traits = np.array([5.0, 3.0, 1.0, 1.0]), np.array([[-1.0], [0.0], [1.0], [9.0]])
    drawn = draw_weighted(
        np.random.default_rng(0), np.arange(users + 1) * 2, weights, np.ones((users, 1)), traits, lift
    )
    found = Counter(map(tuple, drawn.reshape(users, 2).tolist()))
    expected = expected_pairs(weights * np.exp(lift * np.clip(traits[:, 0], -2, 2)))
    assert set(found) == set(expected)
    observed = np.array([found[pair] for pair in expected], dtype=float)
    assert chi_square(observed, users * np.array(list(expected.values()))) < 25  # 5 degrees of freedom


def test_a_user_who_exhausts_the_head_still_draws_by_weight() -> None:
    users = 4_000
    weights = np.array([1e9, 1e9, 1.0, 3.0])  # rejection alone would never see the last two
    drawn = draw_weighted(
        np.random.default_rng(0),
        np.arange(users + 1) * 3,
        weights,
        np.zeros((users, 1)),
        np.zeros((4, 1)),
        0.4,
    ).reshape(users, 3)
    assert (drawn[:, :2] == [0, 1]).all()
    assert np.mean(drawn[:, 2] == 3) == pytest.approx(0.75, abs=0.03)


# --- randomness -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: synthetic.market(50, 40, 300, rng=rng),
        lambda rng: synthetic.low_rank(50, 400, rng=rng)[0],
    ],
    ids=["market", "low_rank"],
)
def test_a_seed_repeats_a_world(make) -> None:
    first, second, other = make(3), make(np.random.default_rng(3)), make(4)
    assert np.array_equal(first.items, second.items)
    assert np.array_equal(first.values, second.values)
    assert not np.array_equal(first.values, other.values)
    assert not np.array_equal(make(None).values, make(None).values)
