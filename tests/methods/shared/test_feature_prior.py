"""Features of items are believed as far as they explain what was released, and cost next to nothing otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import Generator

from discreet.catalogue.features import ItemFeatures
from discreet.methods.shared.public.feature_prior import FeaturePrior
from discreet.methods.shared.public.shrinkage import estimate

ITEMS = 1_500


def categories(rng: Generator, number: int, items: int = ITEMS) -> np.ndarray:
    return rng.integers(0, number, items)


def prior_of(**columns: np.ndarray) -> FeaturePrior:
    """One group for each column of category numbers."""
    table = {name: [f"c{value}" for value in column] for name, column in columns.items()}
    return FeaturePrior(ItemFeatures.learn(table, dict.fromkeys(table, "category")))


def centred(rng: Generator, kind: np.ndarray, order: int) -> np.ndarray:
    """A value of each category, of mean 0 and variance 1 over the items."""
    values = rng.standard_normal((kind.max() + 1, order))[kind]
    return (values - values.mean(axis=0)) / values.std(axis=0)


class Made:
    """Numbers of which everything is known: ``y = w z + noise``, z partly a category's."""

    def __init__(self, seed: int, explained: float, order: int = 3, number: int = 20) -> None:
        rng = np.random.default_rng(seed)
        self.kind = categories(rng, number)
        self.weight = np.exp(rng.normal(3.0, 1.0, ITEMS))
        self.variance = np.full(ITEMS, 30.0**2)
        self.part = np.sqrt(explained) * centred(rng, self.kind, order)
        self.truth = self.part + np.sqrt(1.0 - explained) * rng.standard_normal((ITEMS, order))
        noise = np.sqrt(self.variance)[:, None] * rng.standard_normal((ITEMS, order))
        self.seen = self.weight[:, None] * self.truth + noise
        self.rng = rng

    def error(self, prior: FeaturePrior | None) -> float:
        """Of z, which counts all items alike."""
        found = estimate(self.seen, self.weight, self.variance, prior=prior).vectors / self.weight[:, None]
        return float(np.square(found - self.truth).mean())

    def fit(self, prior: FeaturePrior):
        return prior.fit(self.seen, self.weight, self.variance, np.ones(self.truth.shape[1]))


@pytest.mark.parametrize("seed", range(3))
def test_features_that_explain_are_believed_and_help(seed: int) -> None:
    made = Made(seed, explained=0.8)
    prior = prior_of(kind=made.kind)
    fit = made.fit(prior)
    assert (fit.share > 0.5).all()
    np.testing.assert_allclose(fit.own, 1.0 - fit.share)
    assert np.square(fit.explained - made.part).mean() < 0.15 * np.square(made.part).mean()
    assert made.error(prior) < 0.75 * made.error(None)


@pytest.mark.parametrize("number", [5, 40, 400])
def test_random_features_cost_at_most_a_hundredth(number: int) -> None:
    """Labels that have nothing to do with the items; on average next to nothing is lost."""
    costs = []
    for seed in range(8):
        made = Made(100 + seed, explained=0.0)
        prior = prior_of(kind=categories(made.rng, number), other=categories(made.rng, 3))
        costs.append(made.error(prior) / made.error(None))
    assert max(costs) < 1.01
    assert np.mean(costs) < 1.003


def test_coefficients_are_those_of_a_dense_solve() -> None:
    made = Made(7, explained=0.5)
    other = categories(made.rng, 150)
    prior = prior_of(kind=made.kind, other=other)
    dense, group = prior._rows.toarray(), prior._group_of
    own, variances = np.array([0.3, 0.6, 0.9]), np.array([[0.5, 0.2, 0.0], [0.2, 0.0, 0.1]])
    found = prior._solve(made.seen, made.weight, made.variance, own, variances)
    for direction in range(3):
        used = variances[group, direction] > 0.0
        columns = dense[:, used] * made.weight[:, None]
        precision = 1.0 / (made.variance + made.weight**2 * own[direction])
        normal = (columns * precision[:, None]).T @ columns + np.diag(1.0 / variances[group[used], direction])
        right = (columns * precision[:, None]).T @ made.seen[:, direction]
        exact = np.linalg.solve(normal, right)
        assert np.linalg.norm(found[used, direction] - exact) < 3e-3 * np.linalg.norm(exact)
        assert not found[~used, direction].any()


def test_a_group_is_believed_in_its_own_direction_only() -> None:
    rng = np.random.default_rng(8)
    first, second = categories(rng, 20), categories(rng, 20)
    truth = 0.5 * rng.standard_normal((ITEMS, 3))
    truth[:, [0]] += centred(rng, first, 1)
    truth[:, [1]] += centred(rng, second, 1)
    truth /= truth.std(axis=0)
    weight, variance = rng.uniform(10.0, 50.0, ITEMS), np.full(ITEMS, 15.0**2)
    seen = weight[:, None] * truth + 15.0 * rng.standard_normal(truth.shape)
    prior = prior_of(first=first, second=second)
    fit = prior.fit(seen, weight, variance, np.ones(3))
    group = prior._group_of
    size = np.array([np.abs(fit.coefficients[group == number]).mean(axis=0) for number in (0, 1)])
    assert fit.share[0] > 0.5
    assert fit.share[1] > 0.5
    assert fit.share[2] < 0.02
    assert size[1, 0] < 0.05 * size[0, 0]
    assert size[0, 1] < 0.05 * size[1, 1]
    assert size[:, 2].max() < 0.05 * size[0, 0]
