"""Names at the ends of lines, published numbers apart, quick runs marked."""

from __future__ import annotations

from itertools import pairwise

import pytest
from matplotlib.text import Annotation

from reproduction import Context, perform
from reproduction.output import plotting
from tests.reproduction.output.made_up import experiment


def test_every_line_is_named_once_and_names_keep_apart() -> None:
    with plotting.style():
        _, (axes,) = plotting.panels()
        for number, end in enumerate((0.5, 0.5001, 0.9)):
            plotting.curve(axes, [1, 2], [0.2, end], [0.01, 0.01], label=f"line {number}", number=number)
        plotting.baseline(axes, 0.5, "level")
        plotting.label_lines(axes)
    names = [one for one in axes.texts if isinstance(one, Annotation)]
    assert sorted(one.get_text() for one in names) == ["level", "line 0", "line 1", "line 2"]
    heights = sorted(one.xyann[1] for one in names)
    assert all(above - below > 0.03 for below, above in pairwise(heights))
    assert names[-1].get_text() == "line 2"
    assert names[-1].get_color() == plotting.COLOURS[2]
    assert axes.get_legend() is None


def test_a_line_that_ends_out_of_sight_says_where() -> None:
    with plotting.style():
        _, (axes,) = plotting.panels()
        plotting.curve(axes, [1, 2], [0.2, 9.0], label="far", number=0)
        plotting.baseline(axes, -9.0, "deep")
        axes.set_ylim(0.0, 1.0)
        plotting.label_lines(axes)
    assert {one.get_text() for one in axes.texts} == {"far ↑", "deep ↓"}


@pytest.mark.parametrize(("places", "gaps"), [([0.1, 0.5], [0.2]), ([0.5, 0.5, 0.5], [0.1, 0.1]), ([], [])])
def test_places_move_as_little_as_needed(places: list[float], gaps: list[float]) -> None:
    found = plotting._apart(places, gaps)
    assert sum(found) == pytest.approx(sum(places))
    for (below, above), gap in zip(pairwise(found), gaps, strict=True):
        assert above - below >= gap - 1e-9


def test_published_numbers_of_other_data_say_so() -> None:
    with plotting.style():
        _, (ours, theirs) = plotting.panels(2)
        plotting.curve(ours, [1, 2], [0.2, 0.3], label="ours", number=0)
        plotting.published_elsewhere(theirs, [1, 2], [5.0, 6.0], source="MovieLens 20M", xlabel="epsilon")
    assert "other data" in theirs.get_title()
    assert "MovieLens 20M" in theirs.get_title()
    assert ours.get_ylim()[1] < 1.0 < theirs.get_ylim()[0]


def test_a_quick_picture_is_marked_with_its_trials_and_draws() -> None:
    quick = perform(experiment(), Context("quick"))
    for figure in quick.result.figures.values():
        assert [text.get_text() for text in figure.texts] == ["QUICK RUN\n2 draws"]
    full = perform(experiment(), Context("full"))
    assert not any(figure.texts for figure in full.result.figures.values())
