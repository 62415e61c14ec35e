"""What a fitted model says of what it does not know, and what it guesses of items that nobody has rated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet import Budget, BudgetedALS, Catalogue, Ratings
from discreet.methods.budgeted.public.items import finished
from discreet.methods.budgeted.public.step import AveragedOffsets, State
from discreet.methods.budgeted.public.whitening import Frame
from discreet.methods.shared.public.feature_prior import FeaturePrior
from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.model import Model
from discreet.privacy import Noise

USERS, ITEMS, KINDS, RATED = 2_500, 250, 10, 30
LEVELS = np.linspace(-0.6, 0.6, KINDS)
NEW = [f"new-{kind}" for kind in range(KINDS)]
HEARD = AveragedOffsets(np.zeros(ITEMS), np.ones(ITEMS), np.zeros(ITEMS))


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


def test_without_features_there_is_doubt_and_no_map() -> None:
    side = Made(1, described=False).fit(20.0).item_side
    assert side.noise_ratio is not None
    assert side.feature_map is None


def test_new_items_are_guessed_in_the_right_direction(made: Made, model: Model) -> None:
    longer = model.with_items(NEW, {"kind": [f"k{kind}" for kind in range(KINDS)]})
    side = longer.item_side
    offsets, factors = side.offsets[ITEMS:], side.factors[ITEMS:]
    assert np.corrcoef(offsets, LEVELS)[0, 1] > 0.95
    assert 0.6 < np.polyfit(LEVELS, offsets, 1)[0] < 1.1
    for kind in range(KINDS):
        own = side.factors[:ITEMS][made.kind == kind].mean(axis=0)
        assert own @ factors[kind] > 0.85 * np.linalg.norm(own) * np.linalg.norm(factors[kind])
    # How new kinds relate to each other is how true ones do.
    true, guessed = made.traits @ made.traits.T, factors @ factors.T
    assert np.corrcoef(true.ravel(), guessed.ravel())[0, 1] > 0.9


def test_a_new_item_is_most_like_old_ones_of_its_kind(made: Made, model: Model) -> None:
    """Where the noise allows: its kind is among the first as often as can be told from two numbers a kind."""
    longer = model.with_items(NEW, {"kind": [f"k{kind}" for kind in range(KINDS)]})
    hits = []
    for kind, name in enumerate(NEW):
        found = [item for item in longer.similar(name, 10).items if item not in NEW]
        traits = made.traits[[made.kind[int(item.removeprefix("item-"))] for item in found]]
        norms = np.linalg.norm(traits, axis=1) * np.linalg.norm(made.traits[kind])
        hits.append((traits @ made.traits[kind] / norms).mean())
    assert np.mean(hits) > 0.8


def test_rare_items_are_in_more_doubt(made: Made, model: Model) -> None:
    doubt = model.item_side
    assert doubt.noise_ratio is not None
    rare, popular = made.counts < np.quantile(made.counts, 0.25), made.counts > np.quantile(made.counts, 0.75)
    assert doubt.noise_ratio[rare].mean() > 1.3 * doubt.noise_ratio[popular].mean()
    ranks = np.argsort(np.argsort(made.counts)), np.argsort(np.argsort(doubt.noise_ratio))
    assert np.corrcoef(*ranks)[0, 1] < -0.8


@pytest.mark.parametrize(("epsilon", "most"), [(5.0, 0.45), (1000.0, 0.15)])
def test_items_that_are_pure_noise_are_like_nothing(epsilon: float, most: float) -> None:
    """Items that nobody rated have noise for factors; the best of their many scores are low all the same."""
    model = with_unrated(Made(2, described=False)).fit(epsilon)
    noise = [scores_of(model, f"unrated-{number}")[0] for number in range(30)]
    popular = [scores_of(model, f"item-{number}")[0] for number in range(10)]
    assert np.mean(noise) < most
    assert np.mean(popular) > 0.75
    bare = replace(model, item_side=replace(model.item_side, noise_ratio=None))
    assert np.mean([scores_of(bare, f"unrated-{number}")[0] for number in range(30)]) > 1.5 * np.mean(noise)
    similar = model.similar("item-0", 10).items
    assert not any(str(name).startswith("unrated") for name in similar)


def scores_of(model: Model, name: str) -> list[float]:
    return [float(entry["score"]) for entry in model.similar(name, 20).to_dict()["recommendations"]]


def with_unrated(made: Made, number: int = 100) -> Made:
    assert made.ratings.catalogue is not None
    names = [*made.ratings.catalogue.ids, *(f"unrated-{k}" for k in range(number))]
    made.ratings = made.ratings.with_catalogue(Catalogue(names))
    return made


def test_guesses_start_from_the_usual_item(model: Model, made: Made) -> None:
    """All offsets and factors far from zero: kinds explain how items differ from what is usual, not where that is."""
    side, share = model.item_side, made.counts / made.counts.sum()
    assert made.ratings.catalogue is not None
    features = made.ratings.catalogue.features
    assert features is not None
    rng = np.random.default_rng(6)
    offsets, factors = 5.0 + LEVELS[made.kind], 2.0 + made.traits[made.kind]
    bare = replace(
        side, offsets=offsets, factors=factors + 0.1 * rng.standard_normal(factors.shape), noise_ratio=None
    )
    weights = ItemWeights.first(made.counts.astype(np.float64), np.full(ITEMS, 1e-6))
    frame = Frame(np.eye(3), 1.0, np.zeros(2))
    state = State(bare, frame, weights, HEARD, precision=np.full(ITEMS, 1e4))
    known = finished(bare, state, FeaturePrior(features), None)
    assert known.feature_map is not None
    np.testing.assert_allclose(known.feature_map.base, share @ np.column_stack([offsets, bare.factors]))
    guessed = known.feature_map.guess(features.matrix)
    np.testing.assert_allclose(guessed[:, 0], offsets, atol=0.15)
    assert np.square(guessed[:, 1:] - factors).mean() < 0.1 * made.traits.var()


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


def test_a_new_item_is_not_taken_for_a_rare_one() -> None:
    """Most items are rare, and rare items are rated lower: of a new item that says nothing."""
    made = Made(4)
    rare = 0.6 - 0.25 * np.log(np.arange(1, ITEMS + 1))
    made.ratings = replace(
        made.ratings, values=np.clip(made.ratings.values + rare[made.ratings.items], 1.0, 5.0)
    )
    side = made.fit(200.0).item_side
    assert side.feature_map is not None
    guesses = side.feature_map.base[0] + side.feature_map.weights[:, 0]
    usual = np.array(
        [np.average(side.offsets[made.kind == k], weights=made.counts[made.kind == k]) for k in range(KINDS)]
    )
    plain = np.array([side.offsets[made.kind == k].mean() for k in range(KINDS)])
    assert (usual - plain).mean() > 0.1
    assert abs((guesses - usual).mean()) < 0.5 * (usual - plain).mean()
