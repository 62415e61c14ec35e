"""Published attacks on noise in floating point break plain noise, and get nothing from the gates."""

from __future__ import annotations

import numpy as np
import pytest

from tests.privacy.draws import attacks
from tests.privacy.draws.tally import ALARM_ERRORS
from tests.privacy.draws.worlds_apart import Outcome, allowed, exclusions, gate_total, lattices, moved_sums

SIZE = 10_000
pytestmark = pytest.mark.fresh
PLAIN = {
    ("inverse logarithm", "plain Laplace noise"): 0.5,
    ("precision", "plain Laplace noise"): 0.02,
    ("precision", "plain Gaussian noise"): 0.02,
}


@pytest.fixture(scope="module")
def excluded() -> dict[str, dict[str, Outcome]]:
    return exclusions(SIZE)


@pytest.mark.parametrize(("attack", "noise"), PLAIN)
def test_plain_noise_shows_which_value_was_impossible(
    excluded: dict[str, dict[str, Outcome]], attack: str, noise: str
) -> None:
    outcome = excluded[attack][noise]
    assert outcome.wrong > PLAIN[attack, noise]
    assert outcome.truth == 0.0


def test_what_leaves_the_gates_has_every_digit_of_every_value(
    excluded: dict[str, dict[str, Outcome]],
) -> None:
    for gate in ("pure gate", "Gaussian gate"):
        assert excluded["precision"][gate] == Outcome(2 * SIZE, 0.0, 0.0)


def test_the_pure_gate_draws_no_logarithms(excluded: dict[str, dict[str, Outcome]]) -> None:
    """The attack names the truth as often as the other value, up to what epsilon allows any attack."""
    outcome = excluded["inverse logarithm"]["pure gate"]
    assert abs(outcome.wrong - outcome.truth) < allowed(outcome.outputs)


def test_the_last_step_of_the_gate_hides_where_normal_numbers_lie() -> None:
    found = lattices(200_000)
    assert min(found["rounded noise without the gate's last step"]) > ALARM_ERRORS
    assert max(np.abs(found["Gaussian gate"])) < ALARM_ERRORS


def test_one_user_moves_a_sum_of_floats_by_more_than_a_user_may_and_the_gates_sum_by_less() -> None:
    moved = moved_sums()
    assert moved["floats of 32 bits"] > 100.0
    assert moved["gate"] <= 1.0


def test_the_order_of_users_changes_a_sum_of_floats_and_not_the_gates() -> None:
    values = attacks.hostile_values(1 << 16)
    assert attacks.float_sum(values, np.float32) != attacks.float_sum(values[::-1], np.float32)
    assert np.array_equal(gate_total(values), gate_total(values[::-1]))
