"""What must not matter does not, and where there is nothing to learn the list is popularity and says so."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from discreet import EASE, Budget, Catalogue, Model, Ratings
from discreet.data import splits
from discreet.errors import CatalogueInvalid
from discreet.evaluation import evaluate_ranking
from discreet.model.recommendations import NO_TASTE
from discreet.privacy import Noise

BUDGET = Budget(8.0, 1e-6)
KINDS, PER_KIND = 5, 20
M = KINDS * PER_KIND


def kinds_of_taste(users: int, seed: int) -> Ratings:
    """Everybody likes one kind of things: most of what they take is of it, the rest is what is popular."""
    rng = np.random.default_rng(seed)
    popular = np.tile(np.linspace(1.0, 0.1, PER_KIND), KINDS)
    liked = np.repeat(np.arange(KINDS), PER_KIND) == rng.integers(0, KINDS, users)[:, np.newaxis]
    return of(rng.random((users, M)) < np.where(liked, 0.5, 0.06) * popular)


def of(taken: np.ndarray, catalogue: Catalogue | None = None) -> Ratings:
    """Clicks of a table of yes and no."""
    indptr = np.concatenate([[0], np.cumsum(taken.sum(axis=1))])
    if catalogue is None:
        catalogue = Catalogue([f"item {number}" for number in range(taken.shape[1])])
    items = np.nonzero(taken)[1]
    return Ratings.from_arrays(indptr, items, np.ones(len(items)), catalogue=catalogue, rating_range=None)


def fit(ratings: Ratings, budget: Budget | None = BUDGET, key: str = "k") -> Model:
    if budget is None:
        return EASE().fit(ratings, rng=0).model_
    return EASE().fit(ratings, budget, rng=0, noise=Noise.fixed_key_not_private(key)).model_


class Split(NamedTuple):
    train: Ratings
    test: Ratings

    def recall(self, model: Model) -> float:
        return evaluate_ranking(model, self.train, self.test, 10).recall

    def with_catalogue(self, catalogue: Catalogue) -> Split:
        return Split(self.train.with_catalogue(catalogue), self.test.with_catalogue(catalogue))


@pytest.fixture(scope="module")
def split() -> Split:
    return Split(*splits.by_rating(kinds_of_taste(2_500, 1), (0.8, 0.2), rng=0))


@pytest.fixture(scope="module")
def plain(split: Split) -> float:
    return split.recall(fit(split.train))


def test_there_is_a_taste_to_find(split: Split, plain: float) -> None:
    """Or else nothing below would say anything."""
    found = evaluate_ranking(fit(split.train), split.train, split.test, 10)
    assert found.recall > 1.5 * found.popularity_recall
    assert 0.9 * split.recall(fit(split.train, None)) < plain


def test_ten_thousand_items_that_nobody_takes_change_little(split: Split, plain: float) -> None:
    assert split.train.catalogue is not None
    names = [*split.train.catalogue.ids, *(f"unused {number}" for number in range(10_000))]
    longer = split.with_catalogue(Catalogue(names))
    model = fit(longer.train)
    assert longer.recall(model) == pytest.approx(plain, rel=0.03)
    # Of those that nobody takes, one in forty has a count two deviations above 0.
    assert model.item_side.known[M:].sum() < 0.035 * 10_000
    assert model.item_side.known[:M].mean() > 0.9


def test_every_tenth_user_teaches_less_and_not_less_than_popularity(split: Split, plain: float) -> None:
    few = split.train.take_users(np.arange(0, split.train.n_users, 10))
    found = evaluate_ranking(fit(few), split.train, split.test, 10)
    assert found.popularity_recall < found.recall < plain


# Where there is nothing to learn


def says_popularity(model: Model) -> None:
    """Everybody's list is the same but for what they have, and says so."""
    ids = list(model.catalogue.ids)
    assert model.item_side.same_for_all
    assert not model.item_side.known.any()
    found = model.recommend(ids[:1], n=2)
    assert NO_TASTE in found.notes
    order = np.argsort(-model.item_side.counts, kind="stable")
    assert found.items == [ids[place] for place in order if place != 0][:2]
    assert NO_TASTE in str(found)


def nobody() -> Ratings:
    return one_user().take_users(slice(0, 0))


def one_user() -> Ratings:
    return of(np.ones((1, 7), bool))


def all_took_one_item() -> Ratings:
    return of(np.arange(30) == np.full((3_000, 1), 4))


def everybody_has_nothing() -> Ratings:
    some = of(np.ones((50, 7), bool))
    return some.keep(np.zeros(some.n_ratings, bool))


def one_item_each() -> Ratings:
    return of(np.arange(30) == np.random.default_rng(1).integers(0, 30, (3_000, 1)))


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("world", [nobody, one_user, all_took_one_item, everybody_has_nothing, one_item_each])
def test_where_nothing_is_taken_together_the_list_is_popularity_and_says_so(world, epsilon: float) -> None:  # type: ignore[no-untyped-def]
    if world is one_user and epsilon == 20.0:
        pytest.skip("one person stands out of so little noise")
    says_popularity(fit(world(), Budget(epsilon, 1e-6)))


def test_who_all_take_one_item_are_given_it() -> None:
    model = fit(all_took_one_item(), Budget(1.0, 1e-6))
    assert model.recommend([], n=1).items == ["item 4"]


def test_at_epsilon_one_hundredth_noise_is_not_sold_as_taste(split: Split) -> None:
    """Two hundred people's tastes drown in it; of forty releases one may pass for taste."""
    few = split.train.take_users(slice(0, 200))
    models = [fit(few, Budget(0.01, 1e-6), key=str(number)) for number in range(20)]
    assert sum(not model.item_side.same_for_all for model in models) <= 1
    says_popularity(models[0])
    assert not fit(few, Budget(8.0, 1e-6)).item_side.same_for_all


def test_a_catalogue_of_two_is_a_model_and_one_of_one_is_refused() -> None:
    for budget in (None, Budget(1.0, 1e-6)):
        model = fit(of(np.ones((40, 2), bool)), budget)
        assert model.recommend(["item 0"], n=5).items == ["item 1"]
        with pytest.raises(CatalogueInvalid, match="only one item"):
            fit(of(np.ones((40, 1), bool)), budget)


def test_people_with_the_whole_catalogue() -> None:
    """Nothing tells items apart: some model, with finite scores, that has nothing left to give them."""
    model = fit(of(np.ones((500, 12), bool)))
    ids = list(model.catalogue.ids)
    assert model.recommend(ids, n=3).shortfall == 3
    scores = [entry.score for entry in model.recommend(ids[:3], n=9)]
    assert np.isfinite(scores).all()


# Dislikes


@pytest.mark.parametrize("epsilon", [2.0, 20.0])
def test_three_bad_ratings_of_one_kind_bring_no_other_thing_of_that_kind_up(epsilon: float) -> None:
    """Not above anything of another kind that was above it before."""
    clicks, rng = kinds_of_taste(2_500, 3), np.random.default_rng(4)
    users = np.repeat(np.arange(clicks.n_users), np.diff(clicks.indptr))
    taken = np.zeros((clicks.n_users, KINDS))
    np.add.at(taken, (users, clicks.items // PER_KIND), 1)
    own = taken.argmax(axis=1)[users] == clicks.items // PER_KIND
    stars = np.where(own, rng.choice([4.0, 5.0], len(own)), rng.choice([1.0, 2.0, 3.0, 4.0], len(own)))
    rated = Ratings.from_arrays(
        clicks.indptr, clicks.items, stars, catalogue=clicks.catalogue, rating_range=(1.0, 5.0)
    )
    model = fit(rated, Budget(epsilon, 1e-6))
    ids = list(model.catalogue.ids)
    kind_of = np.arange(M) // PER_KIND
    before = _above(model, {ids[0]: 2.7}, kind_of)  # between a dislike and a like, and says next to nothing
    for kind in range(KINDS):
        bad = [ids[place] for place in np.flatnonzero(kind_of == kind)[:3]]
        after = _above(model, dict.fromkeys(bad, 1.0), kind_of)
        others = (kind_of == kind) & ~np.isin(ids, [*bad, ids[0]])
        assert (after[others] >= before[others] - 1).all()
        liked = _above(model, dict.fromkeys(bad, 5.0), kind_of)
        assert liked[others].mean() < before[others].mean() - 5


def _above(model: Model, history: dict[str, float], kind_of: np.ndarray) -> np.ndarray:
    """How many items of other kinds each item has above it; of the items of the history, none."""
    found = model.recommend(history, n=M)
    above, place = np.zeros(M, int), {name: number for number, name in enumerate(model.catalogue.ids)}
    seen = np.zeros(KINDS, int)
    for item in found.items:
        number = place[item]
        above[number] = seen.sum() - seen[kind_of[number]]
        seen[kind_of[number]] += 1
    return above


# Without a budget


def test_without_a_budget_the_statement_reads_not_private(split: Split) -> None:
    statement = EASE().fit(split.train, rng=0).statement_
    assert not statement.private
    assert statement.epsilon is None
    assert not statement.releases
    assert "not private" in str(statement).lower()
    assert "trained without noise" in str(statement)


def test_a_run_that_starts_from_it_is_not_private_either(split: Split) -> None:
    openly = EASE().fit(split.train, rng=0).model_
    statement = EASE().fit(split.train, BUDGET, rng=0, start=openly).statement_
    assert not statement.private
    assert EASE().fit(split.train, BUDGET, rng=0).statement_.private
