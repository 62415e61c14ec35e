"""A run that starts from an earlier one: sums that are added as far as they tell, and what both cost."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from discreet import EASE, Budget, Catalogue, Model, Ratings, evaluate
from discreet.errors import SettingsInvalid
from discreet.methods.ease.public.earlier import added_counts, added_pairs
from discreet.model.item_weights import ItemWeights, Sums
from discreet.model.start import EarlierSums
from discreet.privacy import Noise
from discreet.privacy.accounting import compose, epsilon_from
from discreet.privacy.gaussian.pairs import NoisyCounts, NoisyPairs
from discreet.types import Floats

ITEMS, CLUBS, TAKEN = 120, 6, 12
BUDGET = Budget(2.0, 1e-5)
NAMES = [f"item {number}" for number in range(ITEMS)]


def clubs(users: int, seed: int, order: Floats | None = None) -> tuple[Ratings, Ratings]:
    """Everybody belongs to a club, and takes 12 items: most are the club's. Two of them are kept for the test."""
    rng = np.random.default_rng(seed)
    club, owner = rng.integers(CLUBS, size=users), np.arange(ITEMS) % CLUBS
    drawn = rng.random((users, ITEMS)) / np.where(club[:, None] == owner, 12.0, 1.0)
    taken = np.argsort(drawn, axis=1)[:, :TAKEN]
    if order is not None:
        taken = order[taken]
    return _clicks(taken[:, 2:]), _clicks(taken[:, :2])


def _clicks(taken: np.ndarray) -> Ratings:
    taken = np.sort(taken, axis=1)
    users, each = taken.shape
    return Ratings.from_arrays(
        np.arange(users + 1) * each,
        taken.ravel(),
        np.ones(taken.size),
        catalogue=Catalogue(pl.Series(NAMES)),
        rating_range=None,
    )


def fit(ratings: Ratings, key: int, budget: Budget = BUDGET, start: Model | None = None) -> Model:
    noise = Noise.fixed_key_not_private(bytes([key] * 32))
    return EASE().fit(ratings, budget, rng=0, noise=noise, start=start).model_


def recall(model: Model, history: Ratings, test: Ratings) -> float:
    return float(evaluate(model, test, history=history, k=20)["recall@20"].value)


def sums(model: Model) -> Sums:
    assert isinstance(model.item_side, ItemWeights)
    assert model.item_side.sums is not None
    return model.item_side.sums


def test_half_then_half_finds_more_than_half_and_the_same_people_twice_more_than_once() -> None:
    (one, _), (other, kept) = clubs(800, 1), clubs(800, 2)
    first, alone = fit(one, 1), fit(other, 2)
    both = fit(other, 2, start=first)
    assert recall(both, other, kept) > recall(alone, other, kept) + 0.04
    assert sums(both).users == pytest.approx(1_600, rel=0.1)
    again = fit(other, 3, start=alone)
    assert recall(again, other, kept) > recall(alone, other, kept) + 0.04


def test_many_earlier_people_are_worth_as_much_as_they_are() -> None:
    """A sum of nine tenths and one of a tenth: the tenth's noise must not drown what the others said."""
    (many, _), (few, kept) = clubs(2_700, 3), clubs(300, 4)
    earlier = fit(many, 4)
    then = fit(few, 5, start=earlier)
    assert recall(then, few, kept) > recall(earlier, few, kept) - 0.02
    assert sums(then).sigma < 1.1 * sums(earlier).sigma


def test_an_earlier_run_about_something_else_adds_nothing() -> None:
    order = np.random.default_rng(0).permutation(ITEMS)
    (one, _), (other, kept) = clubs(1_500, 1, order), clubs(1_500, 2)
    budget = Budget(20.0, 1e-5)
    alone, after = fit(other, 2, budget), fit(other, 2, budget, start=fit(one, 1, budget))
    assert recall(after, other, kept) > recall(alone, other, kept) - 0.01


def test_the_noise_is_what_it_is_said_to_be_and_no_pair_has_more() -> None:
    rng, order = np.random.default_rng(5), 90
    size = order * (order - 1) // 2
    truth = rng.exponential(6.0, size)
    sigma, earlier_sigma = 1.5, 4.0
    told = 3.0 * truth + earlier_sigma * rng.standard_normal(size)
    own = truth + sigma * rng.standard_normal(size)
    inside = np.arange(order) % 3 > 0
    head = np.flatnonzero(inside)
    low, high = np.triu_indices(order, 1)
    known = inside[low] & inside[high]
    places = np.where(inside, np.cumsum(inside) - 1, -1)
    earlier = EarlierSums(
        np.zeros(order),
        np.ones(order, np.bool_),
        places,
        Sums(head.astype(np.int32), told[known].astype(np.float32), earlier_sigma, 1.0, 10.0, 1.0),
    )
    counts = NoisyCounts(np.ones(order), 1.0, 10.0, 1.0)
    _, pairs = added_pairs(earlier, counts, np.arange(order, dtype=np.int32), NoisyPairs(own, sigma))
    # Of both: the earlier sum is worth 3 / 4^2, this one 1 / 1.5^2, and the larger weight becomes 1.
    weight = (3.0 / earlier_sigma**2) / (1.0 / sigma**2)
    signal = np.where(known, 1.0 + 3.0 * weight, math.hypot(1.0, weight * earlier_sigma / sigma)) * truth
    assert pairs.sigma == pytest.approx(math.hypot(sigma, weight * earlier_sigma), rel=0.1)
    for part in (known, ~known):
        rest = pairs.pairs[part] - signal[part]
        scale = float(pairs.pairs[part] @ signal[part] / (signal[part] @ signal[part]))
        assert scale == pytest.approx(1.0, abs=0.1)
        rest = pairs.pairs[part] - scale * signal[part]
        assert np.std(rest) / pairs.sigma == pytest.approx(1.0, abs=6.0 / math.sqrt(2.0 * part.sum()) + 0.03)


def counts_of_both(
    earlier_sigma: float, sigma: float, items: int = 40, multiple: float = 2.0
) -> tuple[NoisyCounts, float]:
    """Counts of two runs that say the same, but for their noise; the earlier one has twice the people."""
    truth = np.linspace(50.0, 90.0, items)
    bare = Sums(np.zeros(0, np.int32), np.zeros(0, np.float32), 3.0, earlier_sigma, 400.0, 4.0)
    earlier = EarlierSums(multiple * truth, np.ones(items, np.bool_), np.full(items, -1), bare)
    return added_counts(earlier, NoisyCounts(truth, sigma, 200.0, 3.0), 1.0)


def test_counts_are_weighed_by_the_noise_that_each_has() -> None:
    """Twice as many people before: a share of one over 1 + v with v the variance of half their noise, in this one's."""
    for earlier_sigma, sigma in ((6.0, 2.0), (2.0, 6.0), (0.5, 5.0)):
        both, pair_sigma = counts_of_both(earlier_sigma, sigma)
        noise = sigma**2
        variance = 0.25 * earlier_sigma**2 + noise * math.sqrt(2.0 / 40.0)  # a drift that could not be seen
        share = noise / (noise + variance)
        assert both.sigma == pytest.approx(
            math.hypot(share * earlier_sigma / 2.0, (1 - share) * sigma), rel=1e-2
        )
        assert both.users == pytest.approx(200.0, rel=1e-2)
        assert both.users_sigma == pytest.approx(math.hypot(share * 4.0 / 2.0, (1 - share) * 3.0), rel=1e-2)
        assert pair_sigma == pytest.approx(math.hypot(share * 3.0 / 2.0, 1 - share), rel=1e-2)


def test_what_hardly_could_be_compared_is_believed_less() -> None:
    """Over few items a drift does not show, so it may be large: the same sums over many items count for more."""
    few, many = (counts_of_both(0.5, 5.0, items)[0].sigma for items in (3, 3_000))
    assert few > 1.5 * many


def test_items_are_matched_by_name_whatever_their_order() -> None:
    ratings, _ = clubs(1_500, 1)
    model = fit(ratings, 1)
    side, released = model.item_side, sums(model)
    assert isinstance(side, ItemWeights)
    names = [*NAMES[:100:-1], "something new", *NAMES[:80]]
    earlier = EarlierSums.of(model, Catalogue(pl.Series(names)))
    assert earlier.counts[3] == side.counts[ITEMS - 4]
    assert not earlier.known[names.index("something new")]
    head = np.arange(0, len(names), 3, dtype=np.int32)
    pairs, known = earlier.pairs_of(head)
    place = {NAMES[item]: number for number, item in enumerate(released.head)}
    square = np.zeros((len(place), len(place)), np.float32)
    square[np.triu_indices(len(place), 1)] = released.pairs
    square += square.T
    found = 0
    for number, (one, other) in enumerate(zip(*np.triu_indices(len(head), 1), strict=True)):
        ends = [place.get(names[head[end]]) for end in (one, other)]
        assert known[number] == (None not in ends)
        if None not in ends:
            assert pairs[number] == square[ends[0], ends[1]]
            found += 1
    assert found > 100


def test_a_catalogue_with_nothing_in_common_is_a_run_of_its_own() -> None:
    ratings, _ = clubs(600, 1)
    model = fit(ratings, 1)
    strangers = EarlierSums.of(model, Catalogue(pl.Series(["a", "b", "c"])))
    counts = NoisyCounts(np.array([5.0, 6.0, 7.0]), 1.0, 10.0, 1.0)
    said, pair_sigma = added_counts(strangers, counts, 0.5)
    assert pair_sigma == 0.5
    assert np.array_equal(said.counts, counts.counts)
    own = NoisyPairs(np.array([1.0, 2.0, 3.0]), 0.5)
    _, pairs = added_pairs(strangers, counts, np.arange(3, dtype=np.int32), own)
    assert np.array_equal(pairs.pairs, own.pairs)
    assert pairs.sigma == own.sigma


def test_the_statement_is_about_who_was_in_both_runs() -> None:
    (one, _), (other, _) = clubs(300, 1), clubs(300, 2)
    first = EASE().fit(one, BUDGET).model_
    second = EASE().fit(other, Budget(1.0, 1e-6), start=first).model_
    said = second.statement
    assert [run.model for run in said.earlier_runs] == [first.digest]
    assert said.own.epsilon == pytest.approx(1.0)
    assert said.epsilon == epsilon_from(compose([first.statement.own.mu, said.own.mu]), 1e-5)
    open_ = EASE().fit(one).model_
    assert not EASE().fit(other, BUDGET, start=open_).model_.statement.private


def test_a_model_without_its_sums_is_refused_as_a_start() -> None:
    ratings, _ = clubs(300, 1)
    bare = EASE(keep_sums=False).fit(ratings, BUDGET).model_
    with pytest.raises(SettingsInvalid, match="does not carry its released sums"):
        EASE.public_half.check_start(bare)
    with pytest.raises(SettingsInvalid, match="does not carry its released sums"):
        EASE().fit(ratings, BUDGET, start=bare)
    with pytest.raises(SettingsInvalid, match="the model to start from is one of popularity"):
        EASE().fit(ratings, BUDGET, start=replace(bare, method="popularity"))


def test_items_that_the_earlier_run_did_not_have_have_no_place_in_its_head() -> None:
    model = fit(clubs(200, seed=0)[0], 1)
    place = np.full(ITEMS, -1)
    place[sums(model).head] = np.arange(len(sums(model).head))
    known = np.flatnonzero(place >= 0)[[3, 1, -1]]
    names = [NAMES[known[0]], "new", NAMES[known[1]], "newer", NAMES[known[2]]]
    earlier = EarlierSums.of(model, Catalogue(names))
    assert earlier.known.tolist() == [True, False, True, False, True]
    assert earlier.places.tolist() == [place[known[0]], -1, place[known[1]], -1, place[known[2]]]
    assert not earlier.counts[~earlier.known].any()
