"""The experiments on devices: run small, look at what they say, and make them say no."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.privacy.local.rotated import Coin
from reproduction import Context
from reproduction.experiments import local_table_3
from reproduction.local.channel import Exact, OneCoordinate, Round
from reproduction.local.crowd import Crowd
from reproduction.local.rotated import rotated_error
from reproduction.local.world import EvenCoins, World, worlds
from tests.reproduction.worlds import verdicts


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reproduction.local.world._CROWD", {"quick": (900, 80, 14_000)})


@pytest.fixture
def world() -> World:
    (found,) = worlds(Context("quick"))
    return found


def test_even_coins_say_nothing(world: World) -> None:
    """On average the control's answers are nothing; real answers follow the gradient."""
    crowd, start = Crowd.of(world.train), world.untouched
    asked = Round(crowd, start.profiles, start.items, 5.0, np.random.default_rng(0), Coin())
    exact = Exact().gradient(asked)
    busiest = np.abs(exact) > 0.1
    assert busiest.sum() > 10
    size = {}
    for name, channel in {"real": OneCoordinate(), "coins": EvenCoins(OneCoordinate())}.items():
        runs = np.stack([channel.gradient(asked) for _ in range(400)])  # type: ignore[attr-defined]
        mean = runs.mean(axis=0)[busiest] / runs.std(axis=0)[busiest] * 20.0
        size[name] = float(np.sqrt(np.mean(mean**2)))
    assert size["coins"] < 1.7
    assert size["real"] > 3.0


def test_the_rotated_mechanism_is_told_apart_from_user_means_at_a_large_epsilon(world: World) -> None:
    assert rotated_error(world, 12.0) < world.user_mean


def test_table_3_knows_what_the_paper_leaves_out() -> None:
    result = local_table_3.run(Context("quick"))
    assert verdicts(result.findings) == [True, True, True, False]
