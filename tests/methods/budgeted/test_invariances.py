"""What must not matter does not: unused items, a copy of everybody, names, more rounds, more budget."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from discreet import Budget, BudgetedALS, Catalogue, Ratings
from discreet.data import splits, synthetic
from discreet.evaluation import evaluate_ratings
from discreet.model import Model
from discreet.privacy import Noise

FREE = Budget(1000.0, 1e-6)
SETTINGS = [{}, {"rank": 8, "rounds": 8}]


def fit(ratings: Ratings, budget: Budget = FREE, key: str = "a", seed: int = 0, **settings: object) -> Model:
    noise = Noise.fixed_key_not_private(key)
    return BudgetedALS(**settings).fit(ratings, budget, noise=noise, rng=seed).model_


@dataclass(frozen=True)
class Split:
    train: Ratings
    test: Ratings

    def with_catalogue(self, catalogue: Catalogue) -> Split:
        return Split(self.train.with_catalogue(catalogue), self.test.with_catalogue(catalogue))

    def rmse(self, model: Model) -> float:
        return evaluate_ratings(model, self.train, self.test).rmse

    @property
    def ids(self) -> list[str]:
        assert self.train.catalogue is not None
        return list(self.train.catalogue.ids)


@pytest.fixture(scope="module")
def split() -> Split:
    return Split(*splits.by_rating(synthetic.market(3_000, 300, 90_000, rng=1), (0.9, 0.1), rng=0))


@pytest.fixture(scope="module", params=SETTINGS, ids=["auto", "set"])
def fitted(request: pytest.FixtureRequest, split: Split) -> tuple[dict[str, object], Model]:
    return request.param, fit(split.train, **request.param)


def test_unused_items_in_the_catalogue_do_not_matter(
    split: Split, fitted: tuple[dict[str, object], Model]
) -> None:
    settings, plain = fitted
    longer = split.with_catalogue(Catalogue([*split.ids, *(f"unused-{k}" for k in range(1_000))]))
    model = fit(longer.train, **settings)
    assert longer.rmse(model) == pytest.approx(split.rmse(plain), rel=0.01)


@pytest.mark.parametrize("part", ["every tenth user", "half of each history"])
def test_less_data_teach_less_and_never_less_than_offsets_alone(split: Split, part: str) -> None:
    whole = split.train
    if part == "every tenth user":
        less = whole.take_users(np.arange(0, whole.n_users, 10))
    else:
        less = whole.keep(np.random.default_rng(7).random(whole.n_ratings) < 0.5)
    offsets = split.rmse(fit(less, rank=0))
    assert 0.99 * split.rmse(fit(whole)) < split.rmse(fit(less)) < 1.01 * offsets


@pytest.mark.parametrize("rank", [8, 16])
def test_without_noise_more_rounds_do_not_hurt(split: Split, rank: int) -> None:
    few, many = (split.rmse(fit(split.train, rank=rank, rounds=rounds)) for rounds in (6, 12))
    assert many < 1.005 * few


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
    assert all(after < 1.01 * before for before, after in pairwise(errors))
    # Few ratings say little about a person: where people are says more, and their own mean alone is no match.
    assert errors[-1] < 0.94 * scores[-1].user_mean_rmse
