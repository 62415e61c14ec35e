"""What experiments check of themselves: each check can fail."""

from __future__ import annotations

import math

import pytest

from reproduction.scoring import Draws, gets_no_worse, yardstick_holds


@pytest.mark.parametrize(("private", "lower", "holds"), [
    (0.9, True, True), (0.8, True, True), (0.79, True, False), (0.79, False, True), (0.9, False, False),
])  # fmt: skip
def test_the_yardstick_may_lose_to_nothing(private: float, lower: bool, holds: bool) -> None:
    found = yardstick_holds({"here": 0.8}, {("here", "a method"): private}, lower_is_better=lower)
    assert found.agrees is holds
    assert f"a method, here{' (' if not holds else ': '}{private:.4f} against 0.8000" in found.observed


def test_what_was_refused_is_left_out_and_no_yardstick_is_no_verdict() -> None:
    private = {("", "a"): 0.5, ("", "refused"): math.nan}
    assert yardstick_holds({"": 0.4}, private).agrees is True
    assert yardstick_holds({"": math.nan}, private).agrees is None
    assert yardstick_holds({"": 0.4}, {("", "refused"): math.nan}).agrees is None


def line(*means: float, spread: float = 0.01) -> dict[float, Draws]:
    half = spread / math.sqrt(2)
    return {float(2**n): Draws((mean - half, mean + half)) for n, mean in enumerate(means)}


@pytest.mark.parametrize(("means", "lower", "fine"), [
    ((0.9, 0.8, 0.7), True, True),
    ((0.9, 0.7, 0.715), True, True),
    ((0.9, 0.7, 0.725), True, False),
    ((0.7, 0.715, 0.73), True, False),
    ((0.7, 0.8, 0.9), False, True),
    ((0.7, 0.9, 0.8), False, False),
])  # fmt: skip
def test_more_budget_may_not_harm_beyond_the_spread(
    means: tuple[float, ...], lower: bool, fine: bool
) -> None:
    assert gets_no_worse({"x": line(*means)}, lower_is_better=lower).agrees is fine
    both = gets_no_worse({"x": line(0.9, 0.8), "y": line(*means)}, lower_is_better={"x": True, "y": lower})
    assert both.agrees is fine
