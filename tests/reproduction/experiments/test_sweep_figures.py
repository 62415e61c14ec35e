"""Figures 5 and 9 to 12: run small, and make every claim fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from reproduction import Context, Experiment, perform
from reproduction.central.tasks import NO_NOISE
from reproduction.experiments import figure_05, figure_09, figure_10, figure_11, figure_12
from reproduction.output.record import write
from reproduction.scoring import Draws
from tests.reproduction.pictures import open_picture
from tests.reproduction.worlds import points, shrink, verdicts

EXPERIMENTS = [module.EXPERIMENT for module in (figure_05, figure_09, figure_10, figure_11, figure_12)]


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_a_small_run_writes_a_picture_and_says_what_was_used(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch)
    finished = perform(experiment, Context("quick"))
    write(finished, tmp_path)
    _, _, marks = open_picture(tmp_path / f"{experiment.name}.svg")
    assert marks > 2
    assert all("not at hand" in sentence for sentence in finished.result.data)
    assert any("not charged" in note for note in finished.result.notes)
    assert finished.result.tables[0].rows


def test_figure_5_agrees_and_disagrees() -> None:
    shares = (0.2, 1.0)
    curves = {
        "no noise, all ratings": points(0.82, 0.80),
        "no noise, uniform sample": points(0.84, 0.81),
        "no noise, adaptive sample": points(0.84, 0.81),
        "private, uniform sample": points(0.87, 0.89),
        "private, adaptive sample": points(0.86, 0.85),
        "private, adaptive, no projection": points(1.2, 1.3),
    }
    assert verdicts(figure_05.judge(shares, curves)) == [True] * 5
    changes = (
        ("private, adaptive, no projection", (0.86, 0.85), 0),
        ("private, adaptive sample", (0.9, 0.9), 1),
        ("no noise, uniform sample", (1.5, 1.4), 2),
        ("no noise, all ratings", (0.83, 0.82), 3),
        ("private, uniform sample", (0.88, 0.87), 4),
    )
    for name, values, red in changes:
        assert verdicts(figure_05.judge(shares, {**curves, name: points(*values)}))[red] is False, name


def test_figure_9_agrees_and_disagrees() -> None:
    def curves(*rows: tuple[float, float, float]) -> figure_09.Curves:
        places = (1.0, 20.0, NO_NOISE)
        return {
            rank: dict(zip(places, points(*row), strict=True)) for rank, row in zip((2, 8), rows, strict=True)
        }

    good = curves((0.95, 0.93, 0.92), (1.0, 0.85, 0.8))
    assert verdicts(figure_09.judge("ratings", good, lower_is_better=True)) == [True, True]
    assert verdicts(figure_09.judge("clicks", good, lower_is_better=False)) == [False, False]
    always = curves((0.95, 0.93, 0.92), (0.94, 0.85, 0.8))
    assert verdicts(figure_09.judge("ratings", always, lower_is_better=True)) == [True, False]


def test_figure_10_agrees_and_disagrees() -> None:
    shares, parts = (0.05, 0.3, 1.0), (0.4, 0.8, 1.0)
    low, high = points(0.94, 0.97, 1.0), points(0.9, 0.85, 0.86)
    assert verdicts(figure_10.judge(shares, parts, {1.0: low, 20.0: high})) == [True] * 3
    assert verdicts(figure_10.judge(shares, parts, {1.0: high, 20.0: low})) == [False] * 3
    assert verdicts(figure_10.judge(shares, (0.1, 0.8, 1.0), {1.0: low, 20.0: high})) == [True, False, True]


def test_figure_11_agrees_and_disagrees() -> None:
    shares, popular, ours = (0.02, 0.1, 1.0), 0.3, Draws((0.5,))
    good = {8: points(0.3, 0.4, 0.3), 32: points(0.3, 0.45, 0.3)}
    assert verdicts(figure_11.judge(shares, good, popular, ours)) == [True] * 4
    bad = {8: points(0.2, 0.21, 0.25), 32: points(0.28, 0.2, 0.2)}
    assert verdicts(figure_11.judge(shares, bad, popular, Draws((0.1,)))) == [False] * 4


def test_figure_11_takes_a_difference_within_the_spread_for_none() -> None:
    shares = (0.1, 0.2)
    near, far = Draws((0.40, 0.42)), Draws((0.44, 0.46))
    inside = points(0.4)[0]
    for best, agrees in ((near, True), (far, False)):
        curve = {8: [inside, figure_11.Point(best, {})]}
        assert verdicts(figure_11.judge(shares, curve, 0.3, near))[0] is agrees


def test_figure_12_agrees_and_disagrees() -> None:
    plain, tuned = points(0.9, 0.95), points(0.86, 0.865)
    assert verdicts(figure_12.judge({(0.0, 0.0): plain, (1.0, 0.5): tuned})) == [True, True]
    assert verdicts(figure_12.judge({(0.0, 0.0): tuned, (1.0, 0.5): plain})) == [False, False]
    level = points(0.86, 0.93)
    assert verdicts(figure_12.judge({(0.0, 0.0): points(0.9, 0.91), (1.0, 0.5): level})) == [True, False]
