"""Clicks: gravity comes from the items in use."""

import numpy as np
import pytest

from discreet import ALS, Catalogue, Ratings
from discreet.data import splits
from discreet.evaluation.protocols import evaluate_ranking
from discreet.model.fold_in import Clicks


def test_items_that_nobody_uses_change_nothing(clicks: Ratings) -> None:
    train, query, target = splits.held_out_users(clicks, 0.2, rng=0)
    assert clicks.catalogue is not None
    known = np.asarray(clicks.catalogue.ids).tolist()
    wide = Catalogue([*known, *(f"unused-{number}" for number in range(10_000))])
    plain = evaluate_ranking(ALS(rank=16).fit(train, rng=0).model_, query, target)
    more = ALS(rank=16).fit(train.with_catalogue(wide), rng=0).model_
    scores = evaluate_ranking(more, query.with_catalogue(wide), target.with_catalogue(wide))
    assert scores.recall == pytest.approx(plain.recall, rel=0.01)
    assert not more.item_side.factors[len(known) :].any()


def test_gravity_grows_with_the_share_of_the_items_in_use_that_a_user_takes(clicks: Ratings) -> None:
    def gravity(ratings: Ratings) -> float:
        rule = ALS(rank=2, rounds=1).fit(ratings, rng=0).model_.item_side.rule
        assert isinstance(rule, Clicks)
        return rule.gravity

    half = clicks.keep(np.random.default_rng(0).random(clicks.n_ratings) < 0.5)
    assert gravity(half) == pytest.approx(0.5 * gravity(clicks), rel=0.1)
    rule = ALS(rank=2, rounds=1, gravity=0.3).fit(clicks, rng=0).model_.item_side.rule
    assert isinstance(rule, Clicks)
    assert rule.gravity == 0.3


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
def test_the_penalty_of_a_mean_user_is_a_fixed_share_of_their_clicks(
    clicks: Ratings, exponent: float
) -> None:
    rule = ALS(rank=2, rounds=1, count_exponent=exponent).fit(clicks, rng=0).model_.item_side.rule
    assert isinstance(rule, Clicks)
    mean = clicks.n_ratings / clicks.n_users
    assert rule.factor_penalty * mean**exponent == pytest.approx(0.065 * mean)
