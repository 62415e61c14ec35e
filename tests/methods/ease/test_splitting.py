"""Choosing by splitting the noise: no bias, halves that know nothing of each other, and noise is no taste."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.methods.ease.public import table, train
from discreet.methods.ease.public.head import Popularity
from discreet.methods.ease.public.table import ease
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


def halves(draws: int) -> list[tuple[Any, Any, list[Any]]]:
    """Of each draw of the release: both parts, and what weights each multiple of the ridge made of the first one."""
    pairs, mass = truth()
    # Of weight 0: noise alone, nothing for chance among people.
    popular = Popularity(mass, mass, 0.0)
    rng, seen = np.random.default_rng(1), []
    original = train.denoised
    for _ in range(draws):
        noisy, first, seen_by = released(rng, pairs, SIGMA), [], []

        def watched(one: Any, sigma: float, features: Any, first: Any = first) -> Any:
            first.append(one.copy())
            return original(one, sigma, features)

        def judging(several: Any, judge: Any, *rest: Any, seen_by: Any = seen_by) -> Any:
            seen_by.append((several, judge))
            return table.judged(several, judge, *rest)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(train, "_SPLITS", 1)
            patch.setattr(train, "denoised", watched)
            patch.setattr(train, "judged", judging)
            train._multiple(noisy, pairs, SIGMA, popular, None, rng)
        assert len(first) == len(seen_by) == 1
        ((several, judge),) = seen_by
        assert len(several) == len(train.RIDGES)
        seen.append((first[0], judge, several))
    return seen


def one(weights: Any, judge: Any, diagonal: Any, variance: float) -> Any:
    """What is found of weights alone."""
    return table.judged([weights], judge, diagonal, variance)


@pytest.fixture(scope="module")
def split() -> Any:
    return halves(DRAWS)


@pytest.mark.parametrize("part", ["linear", "square"])
def test_the_criterion_is_that_of_a_judge_without_noise_on_the_average(split: Any, part: str) -> None:
    """Weights are made from the first half each time; the second judges them as the truth would, give or take noise."""
    pairs, mass = truth()
    for place in range(len(train.RIDGES)):
        away, own = [], []
        for first, judge, several in split:
            true, said, seen = (
                float(getattr(one(several[place], matrix, mass, 1.0), part)[0])
                for matrix in (pairs, judge, first)
            )
            away.append(said - true)
            own.append(seen - true)
        error = np.std(away) / np.sqrt(DRAWS)
        assert abs(np.mean(away)) < 6.0 * error
        # What the part that weights are made from says of them is too much, so the test would see a bias.
        assert part == "square" or np.mean(own) > 7.0 * error


def test_the_halves_know_nothing_of_each_others_noise(split: Any) -> None:
    pairs, _ = truth()
    above = np.triu_indices(ORDER, 1)
    fitted = np.array([(first - pairs)[above] for first, _, _ in split])
    other = np.array([(judge - pairs)[above] for _, judge, _ in split])
    n = fitted.size
    assert abs(np.corrcoef(fitted.ravel(), other.ravel())[0, 1]) < 6.0 / np.sqrt(n)
    for part, times in ((fitted, 1.25), (other, 5.0)):
        assert abs(part.var() / (times * SIGMA**2) - 1.0) < 6.0 * np.sqrt(2.0 / n)
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
            "judged",
            lambda several, judge, *rest: (drawn.append(judge), table.judged(several, judge, *rest))[1],
        )
        for _ in range(DRAWS):
            train._multiple(pairs, pairs, SIGMA, popular, None, rng)
    above = np.triu_indices(ORDER, 1)
    variance = np.array([(judge - pairs)[above] for judge in drawn]).var(axis=0)
    wanted = 4.0 * (SIGMA**2 + 0.25 * pairs[above])
    assert np.abs(variance / wanted - 1.0).max() < 6.0 * np.sqrt(2.0 / len(drawn))


def test_how_far_two_are_apart_by_the_noise_follows_from_it_alone() -> None:
    """The difference of what two explain, each at its own scale, moves as far as is said from one judge to another."""
    rng, (pairs, mass) = np.random.default_rng(8), truth()
    several = [ease(released(rng, pairs, SIGMA), mass, mass, multiple).pairs for multiple in (1.0, 10.0)]
    gains, said = [], []
    for _ in range(2_000):
        found = table.judged(several, released(rng, pairs, SIGMA), mass, SIGMA**2)
        gains.append(found.gains[0] - found.gains[1])
        said.append(found.apart[0, 1])
    assert np.std(gains) == pytest.approx(np.mean(said), rel=0.06)
    assert found.apart[0, 0] == found.apart[1, 1] == 0.0
    assert found.apart[0, 1] == found.apart[1, 0]


def verdict(gains: list[float], apart: float, deviations: float = 9.0) -> int | None:
    some, count = np.array(gains), len(gains)
    spread = np.sqrt(some) / deviations
    return table.Judged(np.sqrt(some), np.ones(count), spread, apart * (1.0 - np.eye(count))).chosen


def test_of_what_the_noise_cannot_tell_apart_the_largest_ridge_is_taken() -> None:
    assert verdict([9.0, 8.9, 8.0], 0.04) == 0
    assert verdict([9.0, 8.9, 8.0], 0.06) == 1
    assert verdict([9.0, 8.9, 8.0], 0.6) == 2
    assert verdict([8.0, 9.0, 8.9], 0.04) == 1
    assert verdict([9.0, 8.9, 8.0], 0.6, deviations=1.9) is None
    # Who does not stand out of the noise does not count, however close.
    some = np.array([3.0, 2.9])
    unsure = table.Judged(some, np.ones(2), np.array([1.0, 2.0]), np.full((2, 2), 5.0))
    assert unsure.chosen == 0


def test_where_what_is_popular_says_nothing_all_items_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A taste that rarer items alone have is found; and noise is not."""
    rng, order = np.random.default_rng(9), 200
    mass = np.linspace(90.0, 40.0, order)
    pairs = np.zeros((order, order), np.float32)
    pairs[100:, 100:] = 12.0 * (np.arange(100) % 10 == np.arange(100)[:, np.newaxis] % 10)
    np.fill_diagonal(pairs, 0.0)
    noise = train.square_of((SIGMA * rng.standard_normal(order * (order - 1) // 2)).astype(np.float32), order)
    popular = Popularity(mass, mass, 0.0)
    monkeypatch.setattr(train, "_JUDGED", 60)
    found = [train._multiple(noise + one, one, SIGMA, popular, None, rng) for one in (pairs, 0.0 * pairs)]
    assert found[0] in train.RIDGES
    assert found[1] is None


def test_what_is_judged_is_what_a_regression_leaves_at_any_scale() -> None:
    """Against people in person: how much of each item's squares the weights take off, by the root of how often it is
    taken; and the gain is the most of it over all scales."""
    rng = np.random.default_rng(4)
    people = (rng.random((300, ORDER)) < 0.3).astype(float)
    whole = people.T @ people
    diagonal = np.diag(whole).copy()
    weights = np.abs(rng.standard_normal((ORDER, ORDER))) * 0.05
    np.fill_diagonal(weights, 0.0)
    pairs = (whole - np.diag(diagonal)).astype(np.float32)
    found = one(weights.astype(np.float32), pairs, diagonal, 1.0)
    wanted = []
    for scale in np.linspace(0.1, 3.0, 30):
        errors = ((people - scale * people @ weights) ** 2).sum(axis=0)
        wanted.append(((diagonal - errors) / np.sqrt(diagonal)).sum())
        assert 2.0 * scale * found.linear[0] - scale**2 * found.square[0] == pytest.approx(
            wanted[-1], rel=1e-4
        )
    assert max(wanted) <= found.gains[0] == pytest.approx(max(wanted), rel=0.01)


def test_weights_are_the_least_squares_of_people_whose_items_are_left_out() -> None:
    """With a constant of which the items explain a quarter: everybody has it, and no ridge holds it back."""
    rng = np.random.default_rng(5)
    people = (rng.random((300, ORDER)) < 0.3).astype(float)
    whole = people.T @ people
    diagonal = np.diag(whole).copy()
    found = ease((whole - np.diag(diagonal)).astype(np.float32), diagonal, diagonal, 3.0)
    matrix = whole + np.diag(3.0 * (diagonal.mean() + 0.5 * diagonal))
    constant = diagonal @ np.linalg.solve(matrix, diagonal) / 0.25
    both = np.block([[matrix, diagonal[:, np.newaxis]], [diagonal, np.array([constant])]])
    assert found.scale == pytest.approx(0.25 / constant, rel=1e-4)
    for item in range(ORDER):
        others = np.arange(ORDER + 1) != item
        wanted = np.linalg.solve(both[np.ix_(others, others)], both[others, item])
        assert found.pairs[others[:-1], item] == pytest.approx(wanted[:-1], abs=1e-5)
        assert found.pairs[item, item] == 0.0


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
    found, wanted = (ease(pairs.copy(), diagonal, diagonal, times) for times in (1.0, multiple))
    assert np.array_equal(found.pairs, wanted.pairs)


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
        clean = train.denoised(noisy, sigma).pairs
        passed += train._multiple(noisy, clean, sigma, train.popularity(counts), None, rng) is not None
    assert passed <= 4
