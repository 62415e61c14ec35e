"""Attacks on whole runs and on released models."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from discreet import ALS, Budget, ItemMean, Model, Ratings
from discreet.audit.membership import Curve, attack, best_curve, membership
from discreet.data.synthetic import market


def test_members_of_a_model_that_is_not_private_are_recognised() -> None:
    people = market(240, 60, 4_000, rng=0)

    def fit(data: Ratings, seed: int) -> Model:
        return ALS(rank=8, penalty=0.5).fit(data, rng=seed).model_

    def blind(data: Ratings, seed: int) -> Model:
        return fit(people.take_users(slice(0, 100)), seed)

    assert attack(fit, people, 6).area > 0.6
    # A model that does not depend on who is in tells nothing: the attack must not find anything there.
    assert abs(attack(blind, people, 6).area - 0.5) < 0.06


def test_a_private_method_and_plain_als_are_attacked_side_by_side() -> None:
    found = membership(ItemMean(), Budget(8.0, 1e-6), users=60, models=4)
    assert set(found) == {"item-mean", "not private"}
    for curve in found.values():
        assert (np.diff(curve.alarms) >= 0.0).all()
        assert (np.diff(curve.hits) >= 0.0).all()
        assert (curve.hits[-1], curve.alarms[-1]) == (1.0, 1.0)


def test_curves() -> None:
    limit = best_curve(1.0)
    assert limit.at(0.01) == pytest.approx(norm.sf(norm.isf(0.01) - 1.0), rel=1e-3)
    assert limit.area == pytest.approx(norm.cdf(1.0 / np.sqrt(2.0)), rel=1e-3)
    assert Curve(np.array([0.0, 1.0]), np.array([0.0, 1.0])).area == 0.5
