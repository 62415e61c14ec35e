"""What users hand in, which items are the head, and the table that follows: against plain products of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet import EASE, Budget, Catalogue, Ratings
from discreet.catalogue import CLICKS
from discreet.errors import SettingsInvalid
from discreet.methods.ease.private.contributions import EASEContributions
from discreet.methods.ease.public import train
from discreet.methods.ease.public.head import LEAST_HEAD, choose_head, popularity
from discreet.methods.ease.public.queries import CountsQuery, PairsQuery
from discreet.methods.ease.public.table import ease
from discreet.methods.public.half import Facts
from discreet.privacy.gaussian.pairs import NoisyCounts, NoisyPairs
from discreet.privacy.gaussian.totals import exact_totals

LIKED = {1.0: 0, 1.5: 0, 2.0: 0, 2.5: 4, 3.0: 8, 3.5: 12, 4.0: 16, 4.5: 18, 5.0: 20}


def people(users: int = 40, m: int = 15, *, rated: bool) -> tuple[Ratings, np.ndarray]:
    """Ratings, and a table of how far each is liked."""
    rng = np.random.default_rng(2)
    there = rng.random((users, m)) < 0.4
    stars = rng.choice(list(LIKED), (users, m))
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    values = stars[there] if rated else np.ones(indptr[-1])
    ratings = Ratings.from_arrays(
        indptr,
        np.nonzero(there)[1],
        values,
        catalogue=Catalogue(list(range(m))),
        rating_range=(1.0, 5.0) if rated else None,
    )
    return ratings, there * (np.vectorize(LIKED.get)(stars) if rated else 1)


@pytest.mark.parametrize("rated", [True, False])
def test_everybody_counts_what_they_liked_at_length_one(rated: bool) -> None:
    ratings, liked = people(rated=rated)
    query = CountsQuery("counts", 1.0, 15)
    totals = {
        total.name: total.value.astype(float)
        for total in exact_totals(EASEContributions(ratings).contributions(query))
    }
    found = query.mechanism.read(totals, 1.0)
    norms = np.sqrt((liked**2).sum(axis=1, keepdims=True))
    assert found.counts == pytest.approx((liked / np.maximum(norms, 1e-9)).sum(axis=0), rel=1e-6)
    assert found.users == pytest.approx(np.count_nonzero(norms), rel=1e-6)


@pytest.mark.parametrize("rated", [True, False])
@pytest.mark.parametrize("head", [[0, 3, 4, 9, 14], [7], list(range(15))])
def test_everybody_counts_their_pairs_of_the_head_at_length_one(rated: bool, head: list[int]) -> None:
    ratings, liked = people(rated=rated)
    query = PairsQuery("pairs", 1.0, np.array(head, np.int32))
    totals = {
        total.name: total.value.astype(float)
        for total in exact_totals(EASEContributions(ratings).contributions(query))
    }
    wanted = np.zeros((len(head), len(head)))
    for row in liked[:, head].astype(float):
        own = np.outer(row, row)
        np.fill_diagonal(own, 0.0)
        wanted += own / max(float(np.linalg.norm(own)), 1e-9)
    found = query.mechanism.read(totals, 1.0)
    assert found.pairs == pytest.approx(wanted[np.triu_indices(len(head), 1)], rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("head", [[], [3, 1], [2, 2]])
def test_a_head_that_does_not_ascend_is_refused(head: list[int]) -> None:
    with pytest.raises(SettingsInvalid, match="ascending"):
        PairsQuery("pairs", 1.0, np.array(head, np.int32))


def test_a_twentieth_is_paid_for_counts_and_the_rest_for_pairs() -> None:
    budget = Budget(3.0, 1e-6)
    first, second = EASE().fit(people(rated=False)[0], budget, rng=0).statement_.releases
    assert first.mu**2 == pytest.approx(0.05 * budget.mu**2)
    assert second.mu**2 == pytest.approx(0.95 * budget.mu**2)


def test_masses_follow_from_counts_where_everybody_has_as_many() -> None:
    """Of 60 people with 4 items each: an item's mass is a quarter of who took it."""
    takers = np.array([60.0, 60.0, 60.0, 30.0, 20.0, 10.0])
    found = popularity(NoisyCounts(takers / 2.0, 0.0, 60.0, 0.0))
    assert found.mass == pytest.approx(takers / 4.0)
    assert found.weight == pytest.approx(0.5)
    # Nobody has less than nothing, whatever the noise says; and a count is one deviation at least.
    noisy = popularity(NoisyCounts(np.array([-5.0, 50.0]), 2.0, 60.0, 1.0))
    assert noisy.mass[0] == 0.0
    assert noisy.counts.tolist() == [2.0, 50.0]


def test_the_head_is_who_stands_out_the_most_popular_first() -> None:
    counts = np.concatenate([np.full(150, 40.0), np.full(850, 1.0)])[
        np.random.default_rng(3).permutation(1_000)
    ]
    noisy = NoisyCounts(counts, 1.0, 400.0, 1.0)
    stands = np.flatnonzero(counts == 40.0)
    assert choose_head(noisy, 0.1, 6_000).tolist() == stands.tolist()
    # Two items no more alike than usual have mass^2 / typical together: two deviations of a pair at this noise.
    weight = popularity(noisy).weight
    typical = weight * (float(counts @ counts) - len(counts)) / float(counts.sum())
    bar = (40.0 * weight) ** 2 / (2.0 * typical)
    assert len(choose_head(noisy, 0.98 * bar, 6_000)) == 150
    assert len(choose_head(noisy, 1.02 * bar, 6_000)) == LEAST_HEAD
    # And a mass beyond its own noise.
    assert len(choose_head(NoisyCounts(counts, 39.0, 400.0, 1.0), 0.0, 6_000)) == 150
    assert len(choose_head(NoisyCounts(counts, 41.0, 400.0, 1.0), 0.0, 6_000)) == LEAST_HEAD
    few = choose_head(noisy, 0.1, 20)
    assert len(few) == 20
    assert np.isin(few, stands).all()
    assert (np.diff(few) > 0).all()
    assert len(choose_head(NoisyCounts(counts[:7], 1.0, 9.0, 1.0), 9.0, 6_000)) == 7


def table(order: int, n_items: int) -> tuple[Any, np.ndarray, NoisyCounts, np.ndarray]:
    """The model of exact sums, the matrix of pairs, counts and the head."""
    rng = np.random.default_rng(4)
    taken = (rng.random((400, n_items)) < 0.05 + 0.4 * rng.random(n_items)).astype(float)
    taken /= np.maximum(taken.sum(axis=1, keepdims=True), 1.0)
    head = np.sort(rng.choice(n_items, order, replace=False)).astype(np.int32)
    pairs = (taken.T @ taken)[np.ix_(head, head)]
    counts = NoisyCounts(taken.sum(axis=0) * 3.0, 0.0, 400.0, 0.0)
    facts = Facts(n_items, CLICKS, Budget(1.0, 1e-6), math.inf)
    noisy = NoisyPairs(pairs[np.triu_indices(order, 1)], 0.0)
    return train.item_weights(facts, counts, head, noisy, rng, keep=True), pairs, counts, head


def test_the_table_is_what_the_formula_says_and_its_largest_entries_are_kept() -> None:
    side, pairs, counts, head = table(340, 360)
    side.check()
    popular = popularity(counts)
    diagonal = np.maximum(popular.mass[head], 1e-6)
    found = ease((pairs - np.diag(np.diag(pairs))).astype(np.float32), diagonal, popular.mass[head])
    whole = found.pairs * (popular.counts[head] ** -0.15).astype(np.float32)
    dense = np.zeros((360, 360), np.float32)
    rows = np.repeat(np.arange(360), np.diff(side.starts))
    dense[rows, side.others] = side.weights
    kept = dense[np.ix_(head, head)]
    assert np.count_nonzero(kept) == len(side.weights)
    assert (np.count_nonzero(kept, axis=0) == train.ENTRIES).all()
    np.testing.assert_allclose(kept[kept != 0.0], whole[kept != 0.0], rtol=1e-5)
    least = np.where(kept != 0.0, np.abs(whole), np.inf).min(axis=0)
    assert (np.abs(np.where(kept == 0.0, whole, 0.0)).max(axis=0) <= least).all()
    # Who has said nothing gets popularity.
    assert side.base == pytest.approx(found.scale * popular.mass * popular.counts**-0.15)
    place = np.full(360, -1)
    place[head] = np.arange(340)
    np.testing.assert_allclose(side.together, pairs[place[rows], place[side.others]], rtol=1e-6)
    assert side.mass == pytest.approx(popular.mass)
    assert np.array_equal(side.sums.head, head)
    assert np.array_equal(side.sums.pairs, pairs[np.triu_indices(340, 1)].astype(np.float32))
    assert side.known.sum() == 340


def test_the_same_seed_gives_the_same_table_and_the_sums_are_kept_where_asked() -> None:
    ratings, _ = people(rated=True)
    with_sums = EASE().fit(ratings, rng=0).model_.item_side
    without = EASE(keep_sums=False).fit(ratings, rng=0).model_.item_side
    assert with_sums.sums is not None
    assert without.sums is None
    assert np.array_equal(with_sums.weights, without.weights)
