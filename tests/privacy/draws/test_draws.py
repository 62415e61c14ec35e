"""Draws of every sampler fit the exact law, and the same draws do not fit one that is a little off."""

from __future__ import annotations

import numpy as np
import pytest

from tests.privacy.draws.samplers import CHUNK, MANY, SAMPLERS
from tests.privacy.draws.tally import ALARM, ALARM_ERRORS, Tally, fit, power, shift
from tests.sizes import sized

DRAWS = sized(100_000, 1_000_000)
# A law that is missed by so much on average is missed by an alarm's worth but once in a million runs.
NEAR_ERRORS = ALARM_ERRORS + 6.3
pytestmark = pytest.mark.fresh


@pytest.mark.parametrize("name", SAMPLERS)
def test_draws_fit_their_law_and_no_law_nearby(name: str) -> None:
    sampler = SAMPLERS[name]
    draws = DRAWS * sampler.times
    counted = sampler.tally(draws)
    assert counted.draws == draws
    found = fit(counted, sampler.law(), sampler.score)
    assert not found.alarm, f"{found.worst}, scale off by {found.scale_errors:.1f} standard errors"
    near = sampler.near(draws, NEAR_ERRORS)
    for off in (near, -near):
        wrong = fit(counted, sampler.law(off=off), sampler.score)
        assert wrong.p_values["scale"] < ALARM, f"a law that is off by {off:g} fits as well"


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_hundred_million_draws_have_the_power_that_is_claimed(name: str) -> None:
    sampler = SAMPLERS[name]
    for off in (sampler.off, -sampler.off):
        expected = shift(MANY * sampler.times, sampler.law(), sampler.law(off=off), sampler.score)
        assert power(expected) > 0.98


def test_a_wrong_tail_and_a_number_out_of_range_show() -> None:
    """One number in ten thousand too near, with the scale all but right: the tails tell."""
    sampler = SAMPLERS["rounded Gaussian, scale 8192"]
    values = sampler.draw(CHUNK)
    cut, law = np.clip(values, -3.5 * 8192.0, 3.5 * 8192.0), sampler.law()
    for changed, name in ((cut, "tail"), (np.append(values, 1e6), "range")):
        counted = Tally.like(law)
        counted.add(changed)
        found = fit(counted, law, sampler.score)
        assert found.alarm
        assert name in found.worst[0]
