"""Lists of a task on devices: popularity and predictions together, alike on a device and in the model."""

from __future__ import annotations

from array import array
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from discreet.catalogue import Catalogue, RatingScale
from discreet.data.ratings import Ratings
from discreet.data.splits import k_fold
from discreet.data.synthetic import market
from discreet.devices import fit
from discreet.devices.device.item_side import DeviceItemSide, recommend
from discreet.devices.estimator import noise_variance
from discreet.devices.learner import Estimate, Learner
from discreet.devices.task import DeviceSettings, popularity_list
from discreet.evaluation import evaluate_ranking
from discreet.evaluation.metrics import popularity_ranking, recall_at_k
from discreet.model import Model
from discreet.model.fold_in import Ridge
from discreet.model.item_side import ItemSide
from discreet.model.item_weights import AnySide
from discreet.model.recommendations import BY_POPULARITY, NO_TASTE, NOTHING_LEARNT
from discreet.privacy.statement import Statement

ITEMS = 50
RANGE = (1.0, 5.0)
HISTORIES: list[dict[int, float]] = [{}, {3: 5.0, 4: 2.0, 41: 3.5}, {3: 1.0, 9: 1.0}]


def item_side(rank: int, *, offsets: bool = True, popularity: bool = True) -> ItemSide:
    rng = np.random.default_rng(rank)
    drawn = rng.permutation(np.geomspace(0.001, 0.2, ITEMS)), rng.normal(0.0, 0.4, ITEMS)
    often, liked = (one.astype(np.float32).astype(np.float64) for one in drawn)
    factors = rng.normal(0.0, 0.3, (ITEMS, rank)).astype(np.float32).astype(np.float64)
    return ItemSide(
        RatingScale(RANGE),
        3.0,
        liked if offsets else np.zeros(ITEMS),
        factors,
        Ridge(0.0, 1.0),
        often if popularity else None,
    )


def on_a_device(side: ItemSide) -> DeviceItemSide:
    often = array("f") if side.popularity is None else array("f", side.popularity)
    offsets, factors = array("f", side.offsets), array("f", side.factors.ravel())
    return DeviceItemSide(3, ITEMS, side.rank, often, offsets, factors, 3.0, 0.0, 1.0, RANGE)


def as_model(side: AnySide, method: str) -> Model:
    return Model(side, Catalogue(list(range(side.n_items))), Statement.not_private("a test"), method)


@pytest.mark.parametrize("history", HISTORIES)
def test_with_nothing_believed_items_come_in_the_order_of_popularity(history: dict[int, float]) -> None:
    side = item_side(0, offsets=False)
    assert side.popularity is not None
    wanted = [int(item) for item in np.argsort(-side.popularity) if item not in history][:10]
    assert [item for item, _ in recommend(history, on_a_device(side), RANGE)] == wanted
    assert as_model(side, "devices").recommend(history).items == wanted


@pytest.mark.parametrize("history", HISTORIES)
def test_where_noise_drowned_popularity_there_is_no_list_and_it_is_said(history: dict[int, float]) -> None:
    side = replace(item_side(2), popularity=np.full(ITEMS, 0.125))
    assert recommend(history, on_a_device(side), RANGE) == []
    for drowned in (side, popularity_list(side, 1.0, 1000)):
        theirs = as_model(drowned, "devices").recommend(history)
        assert (theirs.items, theirs.shortfall, theirs.notes) == ([], 10, (NOTHING_LEARNT,))


def test_equal_worth_goes_to_the_more_popular_item() -> None:
    often, offsets = array("f", [0.1, 0.3, 0.2]), array("f", [-2.0] * 3)  # predicted: the lowest rating
    side = DeviceItemSide(1, 3, 0, often, offsets, centre=3.0)
    assert [item for item, _ in recommend({}, side, RANGE)] == [1, 2, 0]


@pytest.mark.parametrize("rank", [0, 3])
@pytest.mark.parametrize("history", HISTORIES)
def test_the_order_is_popularity_times_what_the_rating_is_above_the_lowest(
    rank: int, history: dict[int, float]
) -> None:
    side = item_side(rank)
    assert side.popularity is not None
    indptr, items = np.array([0, len(history)]), np.array(list(history), dtype=np.int32)
    own = side.fold_in(indptr, items, np.array(list(history.values()), dtype=np.float64))[0]
    worth = side.popularity * (3.0 + side.offsets + side.factors @ own[1:] - 1.0)
    wanted = [int(item) for item in np.argsort(-worth) if item not in history][:10]
    mine = recommend(history, on_a_device(side), RANGE)
    assert [item for item, _ in mine] == wanted
    model = as_model(side, "devices")
    theirs = model.recommend(history)
    assert theirs.items == wanted
    assert [entry.score for entry in theirs] == model.predict(history, wanted).tolist()
    assert BY_POPULARITY in theirs.notes
    if history:
        frame = model.recommend_batch(one_row(history))
        assert frame["item"].to_list() == wanted
        assert frame["score"].to_list() == [entry.score for entry in theirs]


@pytest.mark.parametrize(("method", "popularity"), [("als", True), ("devices", False)])
def test_other_models_list_by_prediction(method: str, popularity: bool) -> None:
    side = item_side(0, popularity=popularity)
    found = as_model(side, method).recommend({}, 10)
    assert found.items == np.argsort(-side.offsets)[:10].tolist()
    assert BY_POPULARITY not in found.notes
    if not popularity:
        assert [item for item, _ in recommend({}, on_a_device(side), RANGE)] == found.items


def one_row(history: dict[int, float]) -> Ratings:
    return Ratings.from_arrays(
        np.array([0, len(history)]),
        np.array(list(history), dtype=np.int32),
        np.array(list(history.values())),
        catalogue=list(range(ITEMS)),
        rating_range=RANGE,
    )


def test_the_order_is_that_of_the_estimates_below_zero_as_well() -> None:
    estimate = np.random.default_rng(1).normal(0.02, 0.1, 200)  # nearly half of them below zero
    later = Learner("films", 200, RANGE, 4.0, "ab" * 32).after(Estimate(estimate, 30_000))
    found = recommend({}, DeviceItemSide.from_bytes(later.released()), RANGE, 200)
    assert [item for item, _ in found] == np.argsort(-estimate).tolist()


@pytest.mark.parametrize(("items", "goal"), [(3, "rank"), (3000, "rank"), (40, "rate")])
def test_answers_that_are_all_noise_give_no_list(items: int, goal: Literal["rank", "rate"]) -> None:
    rng, answers = np.random.default_rng(items), 1000
    wrong = 0
    for _ in range(20):
        learner = Learner("films", items, RANGE, 1.0, "ab" * 32, DeviceSettings(goal=goal))
        noise = np.sqrt(noise_variance(learner.schedule.cost, answers))
        for _ in learner.schedule.steps:
            learner = learner.after(Estimate(rng.normal(0.0, noise, items), answers))
        popularity = learner.item_side().popularity
        assert popularity is not None
        wrong += int(np.ptp(popularity) > 0.0)
    assert wrong == 0


@pytest.mark.parametrize("many", [1, 400])
def test_one_item_far_out_of_the_noise_or_many_a_little_are_a_list(many: int) -> None:
    noise = np.sqrt(noise_variance(1.0, 1000))
    shares = np.zeros(1000)
    shares[500 : 500 + many] = (8.0 if many == 1 else 1.5) * noise
    seen = shares + np.random.default_rng(1).normal(0.0, noise, 1000)
    later = Learner("films", 1000, RANGE, 1.0, "ab" * 32).after(Estimate(seen, 1000))
    found = recommend({}, DeviceItemSide.from_bytes(later.released()), RANGE)
    assert found[0][0] == 500 if many == 1 else len({item for item, _ in found} & set(range(500, 900))) >= 8


def test_a_count_of_popularity_says_how_far_it_is_to_be_trusted() -> None:
    noise = np.sqrt(noise_variance(1.0, 1000))
    shares = np.zeros(1000)
    shares[500:510] = 9.0 * noise
    learner = Learner("films", 1000, RANGE, 1.0, "ab" * 32).after(Estimate(shares, 1000))
    side = popularity_list(learner.item_side(), learner.schedule.cost, 1000)
    assert side.sums is not None
    assert side.sums.counts_sigma == pytest.approx(noise)
    model = as_model(side, "devices")
    assert model.notes[0] == NO_TASTE
    assert model.notes[1].startswith("10 of 1000 items are clearly more popular")
    assert set(model.recommend({}).items) == set(range(500, 510))


@pytest.fixture(scope="module")
def parts() -> tuple[Ratings, Ratings]:
    return next(iter(k_fold(market(20_000, 300, 400_000, rng=4), 5, 0)))


def test_with_lists_as_the_goal_they_find_nearly_what_true_popularity_finds(
    parts: tuple[Ratings, Ratings],
) -> None:
    history, test = parts
    free = popularity_ranking(history, history, history.n_items, 10)
    best = recall_at_k(free, test.indptr, test.items, 10)
    found = {}
    for goal in ("rate", "rank"):
        fitted = fit(history, 4.0, goal=goal, rng=1, fixed_key_not_private=1)
        found[goal] = evaluate_ranking(fitted.model_, history, test, 10).recall
    assert found["rank"] > 0.95 * best
    assert found["rank"] > 1.02 * found["rate"]
