"""What ``"auto"`` comes to for ratings: near the best, and only what was left to it."""

from typing import Any

import numpy as np

from discreet import ALS, Ratings
from discreet.data import splits, synthetic
from discreet.evaluation import evaluate_ratings
from discreet.methods.als.ratings import ALSSettings, choose
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


def test_what_is_given_is_kept(market: Ratings) -> None:
    given = _choose(market, rank=3, penalty=0.3, offset_penalty=0.7, count_exponent=1.0)
    assert (given.rank, given.penalty, given.offset_penalty, given.count_exponent) == (3, 0.3, 0.7, 1.0)
    assert _choose(market, rank=5).rank == 5
    assert _choose(market, penalty=0.9).penalty == 0.9
    assert _choose(market, offset_penalty=0.3).offset_penalty == 0.3
    assert ALS(penalty=1.0).fit(town("explicit"), rng=0).rounds_ == 15
