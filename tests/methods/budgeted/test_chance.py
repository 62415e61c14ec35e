"""What chance does to users' vectors: computed, against users who have no taste at all."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.catalogue import CLICKS
from discreet.methods.budgeted.public.chance import beyond_chance, chance_covariance
from discreet.model.fold_in import Clicks
from discreet.model.item_side import ItemSide


def _side(rng: np.random.Generator, popularity: np.ndarray, rank: int = 4) -> ItemSide:
    gravity = 0.3
    factors = rng.standard_normal((len(popularity), rank)) * 0.3
    offsets = popularity / (popularity + gravity)
    return ItemSide(CLICKS, 0.0, offsets, factors, Clicks(gravity, 0.5))


def test_users_without_taste_have_the_computed_covariance() -> None:
    rng = np.random.default_rng(0)
    popularity = rng.uniform(0.01, 0.2, 300)
    side = _side(rng, popularity)
    taken = rng.random((4_000, 300)) < popularity
    indptr = np.concatenate([[0], np.cumsum(taken.sum(1))])
    items = np.nonzero(taken)[1].astype(np.int32)
    vectors = side.fold_in(indptr, items, np.ones(len(items)))[:, 1:]
    computed = chance_covariance(side, popularity)
    measured = np.cov(vectors.T)
    assert np.trace(measured) / np.trace(computed) == pytest.approx(1.0, abs=0.1)
    off = measured - computed
    assert np.abs(off).max() < 0.15 * np.diag(computed).max()


def test_a_direction_of_taste_is_kept_and_one_of_chance_is_shortened() -> None:
    covariance = np.diag([10.0, 1.0])
    root = beyond_chance(np.sqrt(covariance), np.eye(2))
    kept = np.sort(np.linalg.eigvalsh(root @ root.T))
    assert kept[1] == pytest.approx(10.0 - 0.7)
    assert kept[0] == pytest.approx(1.0 - 0.7)


def test_no_direction_is_lost_and_none_is_told_apart_where_all_are_drowned() -> None:
    root = beyond_chance(np.diag([2.0, 0.5]), np.diag([3.0, 10.0]))
    assert np.linalg.eigvalsh(root @ root.T).min() > 0.0
    drowned = beyond_chance(np.diag([1.0, 0.5]), np.diag([3.0, 10.0]))
    assert drowned @ drowned.T == pytest.approx(np.diag([0.5, 0.125]))
