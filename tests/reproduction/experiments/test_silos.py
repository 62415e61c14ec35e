"""The experiments on silos: run small, look at what they say, and make them say no."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.data.synthetic import market
from reproduction.silos.methods import (
    GLOBAL_MEAN,
    ITEM_MEAN,
    POPULARITY,
    USER_MEAN,
    federate,
    levels,
    score,
    with_side,
)
from reproduction.silos.outcome import level, table
from reproduction.silos.runs import (
    ALONE,
    ALS_CENTRAL,
    BEST_OPEN,
    CENTRAL,
    FEDERATED,
    K_MEANS,
    POOLED,
    RANDOM,
    Design,
    run_all,
)
from reproduction.silos.worlds import SILOS, SiloWorld

A, B = "prototypes, one", "prototypes, two"


@pytest.fixture(scope="module")
def world() -> SiloWorld:
    ratings = market(800, 60, 14_000, rng=3)
    return SiloWorld.split("small", ratings, np.arange(800) % SILOS, np.random.default_rng(0))


def test_five_ratings_of_one_user_in_five_are_held_out(world: SiloWorld) -> None:
    held = np.diff(world.test.indptr)
    assert set(held) == {0, 5}
    assert (held > 0).sum() == 160
    assert world.train.n_ratings + world.test.n_ratings == 14_000
    assert sum(part.n_users for part in world.parts) == 800
    assert sum(part.n_ratings for part in world.parts) == world.train.n_ratings
    assert sum(test.n_ratings for _, test in world.tested) == world.test.n_ratings
    for known, test in world.tested:
        assert known.user_ids.tolist() == test.user_ids.tolist()
        assert set(np.diff(test.indptr)) == {5}


def test_federated_runs_learn(world: SiloWorld) -> None:
    model = federate(world.clipped(), 30.0, 0, rank=2, rounds=3)
    assert model.statement.private
    assert score(world, with_side(model.factors)).test < levels(world)[USER_MEAN].test


PAPERS = {"clustering": "swap", "unrated": "zero"}


def test_a_comparison_runs_every_point_once(world: SiloWorld) -> None:
    design = Design(
        (30.0,), (3, 6), (2, 3), 30.0, 6, 3, (30.0,), {A: {**PAPERS, "support": 20}, B: {"clustering": "lloyd"}},
        penalty=3.0, draws=2, rounds=2,
    )  # fmt: skip
    lines = run_all(world, design, 0, lambda *_: None, "")
    points = [line.point for line in lines]
    assert len(set(points)) == len(points)
    assert {point.method for point in points} == {
        *(GLOBAL_MEAN, USER_MEAN, ITEM_MEAN, POPULARITY, CENTRAL, ALONE, ALS_CENTRAL, K_MEANS, RANDOM),
        *(A, B, FEDERATED, POOLED, BEST_OPEN),
    }
    for line in lines:
        private = line.point.epsilon is not None
        assert len(line.scores) == (2 if private else 1)
        assert (line.delta is not None) == private
        if line.point.method in (A, B):
            assert line.delta == (0.0 if line.point.method == A else 1e-6)
            assert line.silos == 10
            assert 1 <= (line.distinct or 0) <= (line.point.k or 0)
    assert level(lines, BEST_OPEN, "test") < level(lines, USER_MEAN, "test")
    assert level(lines, CENTRAL, "train", rank=3, penalty=3.0) < level(lines, USER_MEAN, "train")
    shown = table("x", lines).rows
    assert len(shown) == len(lines)
