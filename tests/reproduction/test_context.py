"""Size, draws and seeds."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.context import Context, Size


def test_size_decides() -> None:
    assert Context("quick").pick(quick=1, full=2) == 1
    assert Context("full").pick(quick=1, full=2) == 2


def test_draws_are_those_asked_for_or_the_experiments_own() -> None:
    own = Context("full")
    assert own.number_of_draws(quick=1, full=5) == 5
    assert own.draws == 5  # so that the record can say it
    assert Context("full", draws=2).number_of_draws(quick=1, full=5) == 2


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


def test_what_was_done_is_not_done_again() -> None:
    context, done = Context("quick"), []
    for purpose in ("a", "a", "b"):
        context.once("point", purpose, compute=lambda purpose=purpose: done.append(purpose))
    assert done == ["a", "b"]


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


def test_a_fresh_context_has_used_nothing() -> None:
    context = Context("quick")
    context.market()
    assert len(context.used) == 1
    assert context.fresh().used == []
