"""What must not matter does not: unused items, a copy of everybody, names, more rounds, more budget."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from discreet import Budget, BudgetedALS, Catalogue, Ratings
from discreet.data import splits, synthetic
from discreet.evaluation.protocols import evaluate_ranking, evaluate_ratings
from discreet.model import Model
from discreet.privacy import Noise

FREE = Budget(1000.0, 1e-6)
SETTINGS = [{}, {"rank": 8, "rounds": 6}]


def fit(ratings: Ratings, budget: Budget = FREE, key: str = "a", seed: int = 0, **settings: object) -> Model:
    noise = Noise.fixed_key_not_private(key)
    return BudgetedALS(**settings).fit(ratings, budget, noise=noise, rng=seed).model_


def recall(model: Model, train: Ratings, test: Ratings) -> float:
    return evaluate_ranking(model, train, test, 20).recall


@dataclass(frozen=True)
class Split:
    train: Ratings
    test: Ratings

    def with_catalogue(self, catalogue: Catalogue) -> Split:
        return Split(self.train.with_catalogue(catalogue), self.test.with_catalogue(catalogue))

    def recall(self, model: Model) -> float:
        return recall(model, self.train, self.test)

    @property
    def ids(self) -> list[str]:
        assert self.train.catalogue is not None
        return list(self.train.catalogue.ids)


def clicks_of(ratings: Ratings) -> Ratings:
    return Ratings.from_arrays(
        ratings.indptr,
        ratings.items,
        np.ones(ratings.n_ratings),
        catalogue=ratings.catalogue,
        rating_range=None,
        user_ids=ratings.user_ids,
    )


@pytest.fixture(scope="module")
def split() -> Split:
    """Clicks in a market large enough that gravity is not at its bound and taste matters."""
    made = clicks_of(synthetic.market(3_000, 1_000, 45_000, rng=0, lift=2.0))
    return Split(*splits.by_rating(made, (0.9, 0.1), rng=0))


@pytest.fixture(scope="module", params=SETTINGS, ids=["auto", "set"])
def fitted(request: pytest.FixtureRequest, split: Split) -> tuple[dict[str, object], Model]:
    return request.param, fit(split.train, **request.param)


def test_the_market_has_something_to_learn(split: Split, fitted: tuple[dict[str, object], Model]) -> None:
    """Or else nothing below would say anything."""
    scores = evaluate_ranking(fitted[1], split.train, split.test, 20)
    assert scores.recall > 1.25 * scores.popularity_recall
    assert 1e-3 < fitted[1].item_side.clicks.gravity < 0.99


def test_unused_items_in_the_catalogue_do_not_matter(
    split: Split, fitted: tuple[dict[str, object], Model]
) -> None:
    settings, plain = fitted
    longer = split.with_catalogue(Catalogue([*split.ids, *(f"unused-{k}" for k in range(1_000))]))
    model = fit(longer.train, **settings)
    assert longer.recall(model) == pytest.approx(split.recall(plain), rel=0.02)
    assert model.item_side.clicks.gravity == pytest.approx(plain.item_side.clicks.gravity, rel=0.1)
    used, unused = model.item_side.offsets[:1000], model.item_side.offsets[1000:]
    assert np.abs(unused).max() < 0.2 * used.max()


def test_a_copy_of_all_users_leaves_gravity_where_it_is(
    split: Split, fitted: tuple[dict[str, object], Model]
) -> None:
    settings, plain = fitted
    once = split.train
    twice = Ratings.from_arrays(
        np.concatenate([once.indptr, once.indptr[1:] + once.indptr[-1]]),
        np.tile(once.items, 2),
        np.tile(once.values, 2),
        catalogue=once.catalogue,
        rating_range=None,
    )
    assert twice.n_users == 2 * once.n_users
    model = fit(twice, **settings)
    assert model.item_side.clicks.gravity == pytest.approx(plain.item_side.clicks.gravity, rel=0.1)
    assert split.recall(model) == pytest.approx(split.recall(plain), rel=0.02)


@pytest.mark.parametrize("part", ["every tenth user", "half of each history"])
def test_less_data_teach_less_and_never_less_than_popularity(split: Split, part: str) -> None:
    whole = split.train
    if part == "every tenth user":
        less = whole.take_users(np.arange(0, whole.n_users, 10))
    else:
        less = whole.keep(np.random.default_rng(7).random(whole.n_ratings) < 0.5)
    model = fit(less)
    scores = evaluate_ranking(model, split.train, split.test, 20)
    popular = split.recall(fit(less, rank=0))
    assert 0.99 * popular < scores.recall < 1.01 * split.recall(fit(whole))
    assert 1e-3 < model.item_side.clicks.gravity <= 1.0


def test_other_names_are_the_same_model(split: Split) -> None:
    """Same places, other names: the same numbers to the last bit."""
    catalogue = Catalogue([f"thing {number}" for number in range(len(split.ids))])
    renamed = Ratings.from_arrays(
        split.train.indptr,
        split.train.items,
        split.train.values,
        catalogue=catalogue,
        rating_range=None,
        user_ids=split.train.user_ids,
    )
    one, two = (fit(part, rank=8, rounds=6).item_side for part in (split.train, renamed))
    assert np.array_equal(one.factors, two.factors)
    assert np.array_equal(one.offsets, two.offsets)


def test_the_order_of_items_hardly_matters(split: Split, fitted: tuple[dict[str, object], Model]) -> None:
    """In another order each item gets another random start, and other noise."""
    settings, plain = fitted
    order = np.random.default_rng(5).permutation(len(split.ids))
    other = split.with_catalogue(Catalogue([split.ids[place] for place in order]))
    model = fit(other.train, **settings)
    assert other.recall(model) == pytest.approx(split.recall(plain), rel=0.015)
    assert model.item_side.clicks.gravity == pytest.approx(plain.item_side.clicks.gravity, rel=0.03)


def test_the_order_of_users_hardly_matters(split: Split) -> None:
    """Users' integers are the same in any order, and so are their sums."""
    order = np.random.default_rng(6).permutation(split.train.n_users)
    one, two = (
        fit(part, rank=8, rounds=3).item_side for part in (split.train, split.train.take_users(order))
    )
    np.testing.assert_allclose(two.factors, one.factors, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(two.offsets, one.offsets, rtol=1e-6, atol=1e-9)


def test_without_noise_more_rounds_do_not_hurt_clicks(split: Split) -> None:
    few, more, many = (
        np.mean([split.recall(fit(split.train, seed=seed, rank=8, rounds=rounds)) for seed in range(2)])
        for rounds in (6, 8, 12)
    )
    assert more > 0.995 * few
    assert many == more


@pytest.fixture(scope="module")
def rated() -> Split:
    return Split(*splits.by_rating(synthetic.market(3_000, 300, 90_000, rng=1), (0.9, 0.1), rng=0))


def rmse(split: Split, model: Model) -> float:
    return evaluate_ratings(model, split.train, split.test).rmse


@pytest.mark.parametrize("rank", [8, 16])
def test_without_noise_more_rounds_do_not_hurt_ratings(rated: Split, rank: int) -> None:
    few, many = (rmse(rated, fit(rated.train, rank=rank, rounds=rounds)) for rounds in (6, 12))
    assert many < 1.005 * few


def test_more_budget_does_not_hurt_ratings(rated: Split) -> None:
    errors = [rmse(rated, fit(rated.train, Budget(epsilon, 1e-6))) for epsilon in (5.0, 50.0, 1000.0)]
    assert errors[1] < 1.005 * errors[0]
    assert errors[2] < 1.005 * errors[1]
    assert errors[2] < 0.99 * errors[0]


@pytest.fixture(scope="module")
def generous() -> Split:
    """People who rate little, and high: half of the scale above its middle."""
    plain = synthetic.market(6_000, 300, 60_000, rng=2)
    high = Ratings.from_arrays(
        plain.indptr,
        plain.items,
        np.clip(3.0 + 0.5 * plain.values, 1.0, 5.0),
        catalogue=plain.catalogue,
        rating_range=(1.0, 5.0),
    )
    return Split(*splits.by_rating(high, (0.9, 0.1), rng=0))


def test_more_budget_does_not_hurt_people_who_rate_little_and_high(generous: Split) -> None:
    scores = [
        evaluate_ratings(fit(generous.train, Budget(epsilon, 1e-6)), generous.train, generous.test)
        for epsilon in (1.0, 5.0, 50.0, 1000.0)
    ]
    errors = [score.rmse for score in scores]
    assert all(after < 1.005 * before for before, after in pairwise(errors))
    # Few ratings say little about a person: where people are says more, and their own mean alone is no match.
    assert errors[-1] < 0.94 * scores[-1].user_mean_rmse


def test_more_budget_does_not_hurt_clicks(split: Split) -> None:
    found = [
        split.recall(fit(split.train, Budget(epsilon, 1e-6), rank=8, rounds=6))
        for epsilon in (1.0, 5.0, 1000.0)
    ]
    assert found[1] > 0.99 * found[0]
    assert found[2] > 0.99 * found[1]
    assert found[2] > 1.02 * found[0]


def test_gravity_settles_where_what_was_taken_has_the_wanted_score(split: Split) -> None:
    side = fit(split.train, rank=8, rounds=6).item_side
    train = split.train
    owners = np.repeat(np.arange(train.n_users), np.diff(train.indptr))
    scores = side.predict(side.fold_in(train.indptr, train.items, train.values), owners, train.items)
    assert scores.mean() == pytest.approx(0.25, abs=0.03)


def test_unused_items_do_not_change_the_planned_rank(split: Split) -> None:
    """At a budget at which the rank is neither nothing nor all that is allowed."""
    longer = split.with_catalogue(Catalogue([*split.ids, *(f"unused-{k}" for k in range(3_000))]))
    plain, other = (
        fit(part, Budget(2.0, 1e-6), rounds=1).item_side.rank for part in (split.train, longer.train)
    )
    assert 2 < plain < 32
    assert other == pytest.approx(plain, rel=0.15)
