"""The experiments on devices: run small, look at what they say, and make them say no."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.privacy.local.coin import Coin
from reproduction import Context, perform
from reproduction.experiments import (
    local_figure_2,
    local_figure_3,
    local_figure_5,
    local_figure_7,
    local_figure_9,
    local_table_3,
    local_worth,
)
from reproduction.local.channel import Exact, OneCoordinate, Round
from reproduction.local.crowd import Crowd
from reproduction.local.rotated import ROTATED, rotated_error
from reproduction.local.world import EvenCoins, World, worlds
from reproduction.local.yardstick import OPEN, offsets_error, tuned_offsets
from reproduction.output.page import page
from reproduction.output.record import as_record, write
from reproduction.scoring import Draws
from tests.reproduction.pictures import open_picture
from tests.reproduction.worlds import verdicts

EXPERIMENTS = [
    module.EXPERIMENT
    for module in (
        local_figure_2,
        local_figure_3,
        local_figure_5,
        local_figure_7,
        local_figure_9,
        local_table_3,
        local_worth,
    )
]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reproduction.local.world._CROWD", {"quick": (900, 80, 14_000)})


@pytest.fixture
def world() -> World:
    (found,) = worlds(Context("quick"))
    return found


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_a_quick_run_shows_what_is_free_beside_it(experiment: object, tmp_path: Path) -> None:
    finished = perform(experiment, Context("quick"))  # type: ignore[arg-type]
    write(finished, tmp_path)
    name = finished.experiment.name
    shown = page(as_record(finished), results=".")
    assert "user mean" in shown
    assert finished.result.data
    assert finished.result.findings
    if finished.result.figure is not None:
        height, width, marks = open_picture(tmp_path / f"{name}.svg")
        assert height > 2
        assert width > 3
        assert marks > 2
    else:
        assert name == "local-table-3"


def test_free_levels_by_hand(world: World) -> None:
    train, test = world.train, world.test
    means = [
        train.values[train.indptr[i] : train.indptr[i + 1]].mean()
        if train.indptr[i] < train.indptr[i + 1]
        else 3.0
        for i in range(train.n_users)
    ]
    wrong = test.values - np.repeat(means, np.diff(test.indptr))
    assert world.user_mean == pytest.approx(np.sqrt(np.mean(wrong**2)))
    assert world.global_mean == pytest.approx(np.sqrt(np.mean((test.values - train.values.mean()) ** 2)))
    assert 0.1 <= world.rate <= 100.0
    assert world.error(world.exact(), test) < world.user_mean


def test_splits_keep_apart_and_all_runs_start_alike(world: World) -> None:
    total = world.train.n_ratings + world.valid.n_ratings + world.test.n_ratings
    assert total == world.data.ratings.n_ratings
    np.testing.assert_array_equal(
        world.untouched.items, world.run(OneCoordinate(), 1.0, rate=0.0, correction=0.0).items
    )


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


def draws(value: float) -> Draws:
    return Draws((value,))


def test_figure_2_can_say_no() -> None:
    epsilons = (0.1, 0.2, 0.4)
    slopes = {
        name: {e: draws(scale / e) for e in epsilons}
        for name, scale in zip(
            (
                local_figure_2.GD,
                local_figure_2.GD_CORRECTED,
                local_figure_2.DR,
                local_figure_2.DR_CORRECTED,
                local_figure_2.SLOWER,
            ),
            (1000.0, 10.0, 30.0, 0.3, 100.0),
            strict=True,
        )
    }
    panel = local_figure_2.Panel("x", slopes, 5.0, 1.0, 1.1)
    assert panel.slope(local_figure_2.GD) == pytest.approx(-1.0)
    assert verdicts(local_figure_2.judge([panel])) == [True, True, True, False, True, True]
    flat = {name: {e: draws(1.0) for e in epsilons} for name in slopes}
    still = local_figure_2.Panel("x", flat, 0.6, 1.0, 1.1)
    assert verdicts(local_figure_2.judge([still])) == [False, False, False, True, False, False]


def panel_3(best: float = 0.8, **changed: float) -> local_figure_3.Panel:
    values = {
        local_figure_3.DR: 0.9,
        local_figure_3.COINS: 1.1,
        local_figure_3.TUNED: 0.9,
        local_figure_3.GD: 1.2,
        local_figure_3.HUA: 1.0,
        ROTATED: 0.95,
    } | changed
    levels = {"non-private GD": 0.8, "V as it began": 1.05, "user mean": 1.0, "global mean": 1.1}
    levels |= {OPEN: best}
    scores = {name: {0.1: draws(value), 1.6: draws(value)} for name, value in values.items()}
    return local_figure_3.Panel("MovieLens 20M", "MovieLens 20M", False, levels, scores, naive=2.3)


def test_figure_3_can_say_no() -> None:
    assert verdicts(local_figure_3.judge([panel_3()])) == [None, *[True] * 8]
    bad = panel_3(best=1.02, **{local_figure_3.DR: 1.11, local_figure_3.TUNED: 1.05, ROTATED: 1.01})
    bad = replace(bad, naive=1.2, as_published=True)
    bad.scores[local_figure_3.DR][1.6] = draws(1.05)  # type: ignore[index]
    bad.scores[ROTATED][1.6] = draws(1.02)  # type: ignore[index]
    assert verdicts(local_figure_3.judge([bad])) == [False] * 9


def test_figure_9_can_say_no() -> None:
    names = (
        local_figure_9.EXACT,
        local_figure_9.DR,
        local_figure_9.LINEAR,
        local_figure_9.PLAIN,
        local_figure_9.BATCHES,
        local_figure_9.COINS,
    )
    falling, rising, level = (
        {1: draws(first), 10: draws(last)} for first, last in ((1.5, 1.1), (1.5, 2.0), (1.6, 1.6))
    )
    best = {1: draws(1.4), 10: draws(1.05)}
    levels = {"user mean": 1.2, "global mean": 1.3}
    good = dict(zip(names, (best, falling, falling, rising, falling, level), strict=True))
    panel = local_figure_9.Panel("x", good, levels, False)
    assert verdicts(local_figure_9.judge([panel])) == [None, True, True, True, True, True, True]
    bad = dict(zip(names, (rising, rising, rising, falling, rising, rising), strict=True))
    panel = local_figure_9.Panel("x", bad, {"user mean": 1.0, "global mean": 1.3}, True)
    assert verdicts(local_figure_9.judge([panel])) == [False] * 7


def test_what_it_is_worth_can_say_no() -> None:
    line = local_worth.Line("x", 10, 5, 1.0, 1.1, 0.9, {1.0: draws(1.0005), 4.0: draws(0.99)})
    assert verdicts(local_worth.judge([line])) == [True] * 4
    harmful = replace(line, offsets=1.0, errors={1.0: draws(0.9999), 4.0: draws(1.002)})
    assert verdicts(local_worth.judge([harmful])) == [False] * 4


def test_table_3_knows_what_the_paper_leaves_out() -> None:
    result = local_table_3.run(Context("quick"))
    assert verdicts(result.findings) == [True, True, True, False]


def test_rates_are_chosen_by_as_many_trials_with_and_without_privacy(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[float] = []
    run = World.run

    def watched(self: World, *args: object, rate: float, **options: object) -> object:
        tried.append(rate)
        return run(self, *args, rate=rate, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(World, "run", watched)
    assert world.rate in tried
    assert len(tried) == world.trials
    tried.clear()
    assert world.tuned_rate(OneCoordinate(), 0.5) in tried
    assert len(tried) == world.trials
    world.tuned_rate(OneCoordinate(), 0.5)
    assert len(tried) == world.trials  # chosen once


def test_tuned_offsets_are_at_least_as_good_as_the_users_mean(world: World) -> None:
    valid, test = tuned_offsets(world)
    assert valid <= offsets_error(world, 1e6, world.valid)
    assert offsets_error(world, 1e9, world.test) == pytest.approx(world.user_mean, rel=1e-3)
    assert test < world.user_mean
