"""The game finds what is there: nearly all of an honest claim, never more, and more where noise is missing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from discreet import Budget
from discreet.audit.game import instance_of, judge, play
from discreet.errors import SettingsInvalid
from discreet.privacy import Noise
from discreet.privacy.gaussian import gate
from discreet.privacy.gaussian.blocks import Block, UserVector
from discreet.privacy.gaussian.item_blocks import CoMoment, ItemMatrix, ItemVector
from discreet.privacy.gaussian.totals import Total
from discreet.types import Floats, Ints
from tests.audit.planted import HalfNoise

BUDGET = Budget(4.0, 1e-5)
TIGHT = ("budgeted", "dpals", "frank-wolfe")


@pytest.mark.parametrize("name", TIGHT)
def test_canaries_are_tight_honest_code_passes_and_half_the_noise_is_refuted(name: str) -> None:
    honest = judge(play(name, BUDGET, 100), BUDGET)
    assert honest.passed, honest
    assert honest.reach > 0.99
    # What 100 runs can tell of a tight canary; 100,000 tell more than 0.98.
    assert honest.lower_bound > 0.6 * BUDGET.epsilon
    planted = judge(play(name, BUDGET, 40, noise=HalfNoise), BUDGET)
    assert not planted.passed, planted


@pytest.mark.parametrize("name", ["svd", "projected-gradient", "item-mean", "popularity", "user-mean"])
def test_any_registered_method_can_be_played(name: str) -> None:
    found = judge(play(name, BUDGET, 100), BUDGET)
    assert found.passed, found
    assert found.reach > 0.8 or name == "user-mean"


def test_means_and_guesses_find_it_too() -> None:
    """Each bound alone refutes half the noise, where there are runs enough."""
    found = judge(play("global-mean", BUDGET, 800, noise=HalfNoise), BUDGET)
    assert found.bounds["means"] > BUDGET.epsilon
    assert found.bounds["noise"] > 1.5 * BUDGET.epsilon
    honest = judge(play("global-mean", BUDGET, 800), BUDGET)
    assert 0.5 * BUDGET.epsilon < honest.bounds["means"] <= BUDGET.epsilon
    assert 0.0 < honest.bounds["guesses"] <= BUDGET.epsilon


def halved(cls: type[Block]) -> Callable[[Block, Noise, float], Floats]:
    drawn = cls.noise

    def noise(self: Block, source: Noise, mu: float) -> Floats:
        return drawn(self, source, 2.0 * mu)

    return noise


@pytest.mark.parametrize(
    ("name", "cls"),
    [("global-mean", UserVector), ("dpals", ItemMatrix), ("dpals", ItemVector), ("svd", CoMoment)],
)
def test_half_the_noise_in_one_kind_of_block_is_refuted(
    name: str, cls: type[Block], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scale is wrong where it is worked out, so what the attacker believes about it is wrong as well."""
    monkeypatch.setattr(cls, "noise", halved(cls))
    found = judge(play(name, BUDGET, 100), BUDGET)
    # The canary moves the release by more than was charged, whether or not so few runs refute the whole claim.
    assert found.reach > 1.05
    assert not found.passed or name == "dpals"


def test_a_gate_that_lets_out_more_than_the_attacker_knows_of_is_refuted_by_the_means(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Totals added twice: their noise looks large, so only how far the worlds lie apart tells."""

    def twice(form: Block, total: Total, source: Noise, mu: float) -> Ints:
        return form.noise(source, gate.paid(mu)).astype(np.int64) + 2 * total.value

    monkeypatch.setattr(gate, "with_noise", twice)
    found = judge(play("global-mean", BUDGET, 400), BUDGET)
    assert found.bounds["means"] > BUDGET.epsilon
    assert found.bounds["noise"] < BUDGET.epsilon
    assert not found.passed


def test_what_is_not_private_is_not_audited() -> None:
    with pytest.raises(SettingsInvalid, match="no promise"):
        instance_of("als")
