"""Promises without delta: devices and prototypes."""

from __future__ import annotations

import pytest

from discreet.audit.game import RISK
from discreet.audit.pure import audit_devices, audit_prototypes, replay_prototypes
from discreet.data.synthetic import market
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.privacy.pure.gate import Contributions
from tests.audit.planted import bold_answer, half_noise_gate


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0])
def test_a_device_that_flips_too_seldom_is_refuted(epsilon: float) -> None:
    honest = audit_devices(epsilon, 1_500, risk=RISK)
    assert honest.passed, honest
    assert honest.lower_bound > 0.7 * epsilon
    planted = audit_devices(epsilon, 1_500, risk=RISK, reply=bold_answer)
    assert not planted.passed, planted


def test_guesses_alone_refute_a_device() -> None:
    planted = audit_devices(2.0, 3_000, risk=RISK, reply=bold_answer)
    assert planted.bounds["guesses"] > 2.0


def test_prototypes_with_half_the_noise_are_refuted() -> None:
    honest = audit_prototypes(1.0, 150, risk=RISK)
    assert honest.passed, honest
    assert honest.reach > 0.95
    planted = audit_prototypes(1.0, 400, risk=0.01, make_gate=half_noise_gate)
    assert not planted.passed, planted


SETTINGS = PrototypeSettings.from_preset("swap", prototypes=2, users=100, support=5, minimum_users=1, depth=1)


def test_prototypes_move_by_no_more_than_their_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings = market(60, 12, 180, rng=0)
    found = replay_prototypes(ratings, 20.0, SETTINGS)
    assert found.passed
    assert found.worst == 1.0
    total = Contributions.total
    monkeypatch.setattr(Contributions, "total", lambda self: 2 * total(self))
    assert not replay_prototypes(ratings, 20.0, SETTINGS).passed
