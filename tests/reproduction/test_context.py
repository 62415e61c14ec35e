"""Size, draws and seeds."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.context import Context, Size


@pytest.mark.parametrize(("size", "least", "trials"), [("quick", 2, 3), ("full", 3, 25)])
def test_no_line_has_a_single_draw_and_everything_tuned_has_as_many_trials(
    size: Size, least: int, trials: int
) -> None:
    context = Context(size)
    assert context.number_of_draws(quick=1, full=1) == least
    assert Context(size).number_of_draws() == least
    assert context.tuned is None
    assert context.number_of_trials() == context.tuned == trials
    assert context.fresh().tuned is None


def test_each_purpose_has_a_stream_of_its_own_that_repeats() -> None:
    context = Context(seed=1)
    assert context.seed_for("split") == Context(seed=1).seed_for("split")
    seeds = {
        context.seed_for("split"),
        context.seed_for("fit", 0),
        context.seed_for("fit", 1),
        Context(seed=2).seed_for("split"),
    }
    assert len(seeds) == 4
    np.testing.assert_array_equal(context.rng("a").random(3), context.rng("a").random(3))
