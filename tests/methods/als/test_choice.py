"""What ``"auto"`` comes to for ratings: near the best, and only what was left to it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet import ALS, Ratings
from discreet.data import splits, synthetic
from discreet.evaluation import evaluate_ratings
from discreet.methods.als.ratings import choose
from discreet.methods.als.settings import ALSSettings
from discreet.model.fold_in import Ridge
from tests.conformance.cases import town


def rmse(train: Ratings, test: Ratings, **settings: Any) -> float:
    return evaluate_ratings(ALS(**settings).fit(train, rng=0).model_, train, test).rmse


def _choose(ratings: Ratings, **settings: Any) -> Any:
    return choose(ALSSettings(**settings), ratings, np.random.default_rng(0), lambda done, total: None)


def test_the_defaults_are_near_the_best_of_a_grid(market: Ratings) -> None:
    train, _, test = splits.by_rating(market, (0.9, 0.05, 0.05), rng=0)
    best = min(
        rmse(train, test, rank=rank, rounds=12, penalty=penalty, offset_penalty=0.4, count_exponent=0.5)
        for rank in (8, 32)
        for penalty in (0.7, 1.0, 1.4, 2.0)
    )
    assert rmse(train, test) < 1.01 * best


def test_without_noise_hardly_any_penalty_is_left_and_the_true_rank_need_not_be_known() -> None:
    train, test = synthetic.low_rank(1_500, 150, rng=0)
    fitted = ALS().fit(train, rng=0)
    rule = fitted.model_.item_side.rule
    assert isinstance(rule, Ridge)
    assert rule.factor_penalty < 1e-4
    assert evaluate_ratings(fitted.model_, train, test).rmse < 2e-4


def test_peoples_own_penalty_may_be_weaker_than_that_of_training() -> None:
    """Few items and strong tastes: a strong penalty keeps chance out of the items, and shortens people's vectors."""
    rng = np.random.default_rng(3)
    users, items, rank = 2_000, 60, 3
    tastes, traits = rng.standard_normal((users, rank)), rng.standard_normal((items, rank))
    values = np.clip(3.0 + 0.6 * tastes @ traits.T + rng.standard_normal((users, items)), 1.0, 5.0)
    rated = Ratings.from_arrays(
        np.arange(users + 1) * items,
        np.tile(np.arange(items, dtype=np.int32), users),
        values.ravel(),
        catalogue=range(items),
        rating_range=(1.0, 5.0),
    )
    train, test = splits.by_rating(rated, (0.8, 0.2), rng=0)
    choice = _choose(train)
    assert choice.relaxed < 1.0
    model = ALS().fit(train, rng=0).model_
    assert isinstance(model.item_side.rule, Ridge)
    assert model.item_side.rule.factor_penalty == pytest.approx(choice.relaxed * choice.penalty, rel=0.1)
    alike = replace(model.item_side, rule=replace(model.item_side.rule, factor_penalty=choice.penalty))
    assert (
        evaluate_ratings(model, train, test).rmse
        < evaluate_ratings(replace(model, item_side=alike), train, test).rmse
    )


def test_ratings_of_other_units_have_the_same_choice_in_their_units(market: Ratings) -> None:
    """A squared error and a product of two factors: the penalty is in units of ratings."""
    low, high = market.scale.range or (0.0, 0.0)
    wide = Ratings.from_arrays(
        market.indptr,
        market.items,
        20.0 * market.values,
        catalogue=market.catalogue,
        rating_range=(20.0 * low, 20.0 * high),
        user_ids=market.user_ids,
    )
    narrow_choice, wide_choice = _choose(market), _choose(wide)
    assert wide_choice.rank == narrow_choice.rank
    assert wide_choice.penalty == pytest.approx(20.0 * narrow_choice.penalty, rel=0.05)
    assert wide_choice.offset_penalty == narrow_choice.offset_penalty


def test_what_is_given_is_kept(market: Ratings) -> None:
    given = _choose(market, rank=3, penalty=0.3, offset_penalty=0.7, count_exponent=1.0)
    assert (given.rank, given.penalty, given.offset_penalty, given.count_exponent) == (3, 0.3, 0.7, 1.0)
    assert _choose(market, rank=5).rank == 5
    assert _choose(market, penalty=0.9).penalty == 0.9
    assert _choose(market, offset_penalty=0.3).offset_penalty == 0.3
    assert ALS(penalty=1.0).fit(town("explicit"), rng=0).rounds_ == 15
