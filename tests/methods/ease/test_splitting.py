"""Choosing by splitting the noise: no bias, halves that know nothing of each other, and noise is no taste."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.methods.ease.public import table, train
from discreet.methods.ease.public.head import Popularity
from discreet.methods.ease.public.table import ease, squares_explained
from discreet.privacy.gaussian.pairs import NoisyCounts

ORDER, SIGMA, DRAWS = 24, 3.0, 400


def truth() -> Any:
    """Pairs of two kinds of items, and their diagonal."""
    rng = np.random.default_rng(0)
    pairs = np.abs(rng.standard_normal((ORDER, ORDER))) * 2.0
    pairs[::2, ::2] += 12.0
    pairs[1::2, 1::2] += 12.0
    pairs += pairs.T
    np.fill_diagonal(pairs, 0.0)
    return pairs.astype(np.float32), np.linspace(40.0, 90.0, ORDER)


def released(rng: np.random.Generator, pairs: Any, sigma: float) -> Any:
    noise = train.square_of((sigma * rng.standard_normal(ORDER * (ORDER - 1) // 2)).astype(np.float32), ORDER)
    return pairs + noise


def halves(draws: int) -> list[tuple[Any, Any, list[tuple[Any, Any]]]]:
    """Of each draw of the release: both halves, and what weights each multiple of the ridge made of the first one."""
    pairs, mass = truth()
    # Of weight 0: noise alone, nothing for chance among people.
    popular = Popularity(mass, mass, 0.0)
    rng, seen = np.random.default_rng(1), []
    original = train.denoised
    for _ in range(draws):
        noisy, first, judged = released(rng, pairs, SIGMA), [], []

        def watched(one: Any, sigma: float, first: Any = first) -> Any:
            first.append(one.copy())
            return original(one, sigma)

        def judging(weights: Any, judge: Any, *rest: Any, judged: Any = judged) -> Any:
            judged.append((weights, judge))
            return squares_explained(weights, judge, *rest)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(train, "denoised", watched)
            patch.setattr(train, "squares_explained", judging)
            train._multiple(noisy, pairs, SIGMA, popular, rng)
        assert len(first) == 1
        assert len(judged) == len(train.RIDGES)
        seen.append((first[0], judged[0][1], judged))
    return seen


@pytest.fixture(scope="module")
def split() -> Any:
    return halves(DRAWS)


def test_the_criterion_is_that_of_a_judge_without_noise_on_the_average(split: Any) -> None:
    """Weights are made from the first half each time; the second judges them as the truth would, give or take noise."""
    pairs, mass = truth()
    for place in range(len(train.RIDGES)):
        away = []
        for _, _, judged in split:
            weights, judge = judged[place]
            found = squares_explained(weights, judge, mass, 1.0).gain
            away.append(found - squares_explained(weights, pairs, mass, 1.0).gain)
        error = np.std(away) / np.sqrt(DRAWS)
        assert abs(np.mean(away)) < 6.0 * error
        # What the sum of both halves says of itself is far too much, so the test would see a bias.
        own = [
            squares_explained(judged[place][0], first, mass, 1.0).gain
            - squares_explained(judged[place][0], pairs, mass, 1.0).gain
            for first, _, judged in split
        ]
        assert np.mean(own) > 12.0 * error


def test_the_halves_know_nothing_of_each_others_noise(split: Any) -> None:
    pairs, _ = truth()
    above = np.triu_indices(ORDER, 1)
    one = np.array([(first - pairs)[above] for first, _, _ in split])
    other = np.array([(judge - pairs)[above] for _, judge, _ in split])
    n = one.size
    assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 6.0 / np.sqrt(n)
    for half in (one, other):
        assert abs(half.var() / (2.0 * SIGMA**2) - 1.0) < 6.0 * np.sqrt(2.0 / n)
    # Together they are the release, and nothing is lost.
    for first, judge, _ in split[:5]:
        assert np.allclose(first, first.T)
        assert np.allclose(judge, judge.T)


def test_chance_among_people_is_added_where_a_pair_is_frequent() -> None:
    pairs, mass = truth()
    popular, rng = Popularity(mass, mass, 0.5), np.random.default_rng(2)
    drawn: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            train,
            "squares_explained",
            lambda weights, judge, *rest: (drawn.append(judge), table.Explained(0.0, 0.0))[1],
        )
        for _ in range(DRAWS):
            train._multiple(pairs, pairs, SIGMA, popular, rng)
    above = np.triu_indices(ORDER, 1)
    variance = np.array([(judge - pairs)[above] for judge in drawn[:: len(train.RIDGES)]]).var(axis=0)
    wanted = SIGMA**2 + 0.25 * pairs[above]
    assert np.abs(variance / wanted - 1.0).max() < 6.0 * np.sqrt(2.0 / DRAWS)


def test_how_sure_it_is_follows_from_the_noise_alone() -> None:
    """Of a judge that is nothing but noise, the linear part has the variance that is said."""
    rng, (_, mass) = np.random.default_rng(3), truth()
    weights = rng.standard_normal((ORDER, ORDER)).astype(np.float32)
    np.fill_diagonal(weights, 0.0)
    nothing = np.zeros((ORDER, ORDER), np.float32)
    deviations = np.array(
        [
            squares_explained(weights, released(rng, nothing, SIGMA), mass, SIGMA**2).deviations
            for _ in range(2_000)
        ]
    )
    assert abs(deviations.mean()) < 6.0 / np.sqrt(2_000)
    assert abs(deviations.var() - 1.0) < 6.0 * np.sqrt(2.0 / 2_000)


def test_weights_that_are_all_zero_explain_nothing() -> None:
    pairs, mass = truth()
    assert squares_explained(np.zeros_like(pairs), pairs, mass, 1.0) == (0.0, 0.0)


def test_squares_explained_are_those_of_a_regression() -> None:
    """Against people in person: how much of each item's squares the weights take off."""
    rng = np.random.default_rng(4)
    people = (rng.random((300, ORDER)) < 0.3).astype(float)
    whole = people.T @ people
    diagonal = np.diag(whole).copy()
    pairs = whole - np.diag(diagonal)
    weights = rng.standard_normal((ORDER, ORDER)) * 0.05
    np.fill_diagonal(weights, 0.0)
    errors = ((people - people @ weights) ** 2).sum(axis=0)
    wanted = ((diagonal - errors) / diagonal).sum()
    found = squares_explained(weights.astype(np.float32), pairs.astype(np.float32), diagonal, 1.0).gain
    assert found == pytest.approx(wanted, rel=1e-4)


def test_weights_are_the_least_squares_of_people_whose_items_are_left_out() -> None:
    rng = np.random.default_rng(5)
    people = (rng.random((300, ORDER)) < 0.3).astype(float)
    whole = people.T @ people
    diagonal = np.diag(whole).copy()
    found = ease((whole - np.diag(diagonal)).astype(np.float32), diagonal, 3.0)
    ridge = np.diag(3.0 * (diagonal.mean() + 0.5 * diagonal))
    for item in range(ORDER):
        others = np.arange(ORDER) != item
        part = (whole + ridge)[np.ix_(others, others)]
        assert found[others, item] == pytest.approx(np.linalg.solve(part, whole[others, item]), abs=1e-5)
        assert found[item, item] == 0.0


@pytest.mark.parametrize("order", [3, 40, 300])
def test_a_matrix_that_noise_has_left_indefinite_gets_a_larger_ridge(order: int) -> None:
    """As the least multiple of two that makes it definite would have given."""
    rng = np.random.default_rng(order)
    diagonal = np.full(order, 0.2)
    pairs = train.square_of(rng.standard_normal(order * (order - 1) // 2).astype(np.float32), order)
    least = -np.linalg.eigvalsh(pairs).min()
    multiple = 1.0
    while 0.2 + multiple * (0.2 + 0.1) <= least:
        multiple *= 2.0
    assert multiple > 1.0
    assert np.array_equal(ease(pairs.copy(), diagonal), ease(pairs.copy(), diagonal, multiple))


@pytest.mark.parametrize("users", [0, 2_000])
def test_noise_is_hardly_ever_taken_for_taste(users: int) -> None:
    """Two deviations: of forty releases without anybody's pairs in them, one is expected to pass."""
    rng, passed, order, sigma = np.random.default_rng(6), 0, 40, 260.0
    for _ in range(40):
        noisy = train.square_of(
            (sigma * rng.standard_normal(order * (order - 1) // 2)).astype(np.float32), order
        )
        far = 6.0 * sigma
        counts = NoisyCounts(far * rng.standard_normal(order), far, users + far * rng.standard_normal(), far)
        clean, _ = train.denoised(noisy, sigma)
        passed += train._multiple(noisy, clean, sigma, train.popularity(counts), rng) is not None
    assert passed <= 4
