"""What a fitted model says of what it does not know, and what it guesses of items that nobody has rated."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import Budget, BudgetedALS, Catalogue, Ratings
from discreet.model import Model
from discreet.privacy import Noise

USERS, ITEMS, KINDS, RATED = 2_500, 250, 10, 30
LEVELS = np.linspace(-0.6, 0.6, KINDS)
NEW = [f"new-{kind}" for kind in range(KINDS)]


class Made:
    """Ratings in which an item's kind decides its offset and its factors; the first items are the popular ones."""

    def __init__(self, seed: int, *, described: bool = True) -> None:
        rng = np.random.default_rng(seed)
        self.kind = rng.integers(0, KINDS, ITEMS)
        self.traits = rng.standard_normal((KINDS, 2))
        popularity = np.arange(1, ITEMS + 1) ** -0.9
        # The RATED first of a random order in which popular items tend to be early: drawn without replacement.
        keys = rng.exponential(size=(USERS, ITEMS)) / popularity
        items = np.sort(np.argpartition(keys, RATED, axis=1)[:, :RATED], axis=1)
        tastes = 0.4 * rng.standard_normal((USERS, 2))
        kinds = self.kind[items]
        stars = 3.0 + LEVELS[kinds] + np.einsum("uf,urf->ur", tastes, self.traits[kinds])
        stars += 0.3 * rng.standard_normal((USERS, 1)) + 0.6 * rng.standard_normal(stars.shape)
        names = [f"item-{number}" for number in range(ITEMS)]
        table = {"kind": [f"k{kind}" for kind in self.kind]} if described else None
        self.ratings = Ratings.from_arrays(
            np.arange(USERS + 1) * RATED,
            items.ravel().astype(np.int32),
            np.clip(np.rint(2.0 * stars) / 2.0, 1.0, 5.0).ravel(),
            catalogue=Catalogue(names, features=table),
            rating_range=(1.0, 5.0),
        )
        self.counts = np.bincount(items.ravel(), minlength=ITEMS)

    def fit(self, epsilon: float, key: str = "k", **settings: object) -> Model:
        noise = Noise.fixed_key_not_private(key)
        settings = {"rank": 4, "rounds": 6, **settings}
        return BudgetedALS(**settings).fit(self.ratings, Budget(epsilon, 1e-6), noise=noise, rng=0).model_


@pytest.fixture(scope="module")
def made() -> Made:
    return Made(0)


@pytest.fixture(scope="module", params=[2.0, 20.0, 1000.0])
def model(request: pytest.FixtureRequest, made: Made) -> Model:
    return made.fit(request.param)


def test_features_lead_to_a_map_and_doubt(model: Model) -> None:
    side = model.item_side
    assert side.noise_ratio is not None
    assert side.feature_map is not None
    side.check()
    assert side.feature_map.weights.shape == (KINDS, 1 + side.rank)
    assert (side.noise_ratio > 0.0).all()
    assert 0.0 < side.feature_map.noise_ratio <= 1.0


def test_rare_items_are_in_more_doubt(made: Made, model: Model) -> None:
    doubt = model.item_side
    assert doubt.noise_ratio is not None
    rare, popular = made.counts < np.quantile(made.counts, 0.25), made.counts > np.quantile(made.counts, 0.75)
    assert doubt.noise_ratio[rare].mean() > 1.3 * doubt.noise_ratio[popular].mean()
    ranks = np.argsort(np.argsort(made.counts)), np.argsort(np.argsort(doubt.noise_ratio))
    assert np.corrcoef(*ranks)[0, 1] < -0.8


def with_unrated(made: Made, number: int = 100) -> Made:
    assert made.ratings.catalogue is not None
    names = [*made.ratings.catalogue.ids, *(f"unrated-{k}" for k in range(number))]
    made.ratings = made.ratings.with_catalogue(Catalogue(names))
    return made


def test_items_that_nobody_rated_are_in_most_doubt() -> None:
    doubt = with_unrated(Made(2, described=False)).fit(20.0).item_side
    assert doubt.noise_ratio is not None
    assert doubt.unknown[ITEMS:].mean() > 0.2
    assert not doubt.unknown[:ITEMS].any()
    assert np.median(doubt.noise_ratio[ITEMS:]) > 0.5


def test_new_items_are_predicted_better_than_by_the_own_mean_and_ranked_better_than_at_random() -> None:
    """A tenth of the items held out of training altogether, then added from their kind."""
    made = Made(7)
    whole, kinds = made.ratings, made.kind
    new = np.arange(5, ITEMS, 10)
    old = np.setdiff1d(np.arange(ITEMS), new)
    users = np.repeat(np.arange(USERS), RATED)
    kept, place = ~np.isin(whole.items, new), np.full(ITEMS, -1)
    place[old], place[new] = np.arange(len(old)), len(old) + np.arange(len(new))
    counts = np.bincount(users[kept], minlength=USERS)
    catalogue = Catalogue([f"item-{j}" for j in old], features={"kind": [f"k{kinds[j]}" for j in old]})
    made.ratings = Ratings.from_arrays(
        np.concatenate([[0], np.cumsum(counts)]),
        place[whole.items[kept]].astype(np.int32),
        whole.values[kept],
        catalogue=catalogue,
        rating_range=(1.0, 5.0),
    )
    model = made.fit(10.0).with_items([f"item-{j}" for j in new], {"kind": [f"k{kinds[j]}" for j in new]})
    side, asked = model.item_side, made.ratings
    coefficients = side.fold_in(asked.indptr, asked.items, asked.values)
    predicted = side.predict(coefficients, users[~kept], place[whole.items[~kept]])
    means = np.add.reduceat(asked.values, asked.indptr[:-1]) / counts
    error = np.square(predicted - whole.values[~kept]).mean()
    assert error < 0.9 * np.square(means[users[~kept]] - whole.values[~kept]).mean()
    above = whole.values[~kept] - means[users[~kept]]
    assert np.corrcoef(predicted - means[users[~kept]], above)[0, 1] > 0.3
