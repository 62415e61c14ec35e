"""The gate: charged first, bounded again, exact, noised, and nothing else leaves."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import kernels
from discreet.errors import BudgetInvalid, SettingsInvalid, UnchargedRelease
from discreet.privacy.gaussian.blocks import UserVector
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.item_blocks import UserMatrix
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.ledger import Ledger
from tests.privacy.checks.gate import (
    check_attackers_are_silenced,
    check_budget_holds,
    check_every_release_is_charged,
    check_failures_stay_charged,
    check_fixed_noise_is_marked,
    check_grid_is_checked,
    check_rounding_goes_down,
    check_scales,
    check_steps,
    check_strange_energies_are_silenced,
)
from tests.privacy.checks.noise import check_item_noise, check_noise_is_fresh, check_variance
from tests.privacy.checks.samples import fixed_release, louder, mute, one_of_each
from tests.privacy.worlds import BUDGET, MU, Scales, exact_release, ordinary_world


def test_noise_has_the_scale_that_was_paid_for() -> None:
    check_scales()
    check_item_noise()


def test_noise_through_the_gate_one_percent_off_would_show() -> None:
    block = UserVector("nothing", 2.0**40, np.zeros((1, 1_000_000), np.int32))
    released = Gate(Ledger(BUDGET)).release("noise", [block], mu=0.1)["nothing"]
    check_variance(released, 2.0**40 / 0.1)
    for wrong in (0.99, 1.01):
        with pytest.raises(AssertionError, match="scale is off"):
            check_variance(released, wrong * 2.0**40 / 0.1)


def test_a_matrix_over_all_users_has_its_two_scales() -> None:
    block = UserMatrix("moment", 2.0**40, np.zeros((1, 1500), np.int16))
    released = Gate(Ledger(BUDGET)).release("noise", [block], mu=0.1)["moment"]
    assert np.array_equal(released, released.T)
    check_variance(released[np.triu_indices(1500, 1)], 2.0**40 / 0.1 / np.sqrt(2.0))
    spread = float((np.diag(released) ** 2).mean()) / (2.0**40 / 0.1) ** 2
    assert abs(spread - 1.0) < 6.0 * np.sqrt(2.0 / 1500)


def test_releases_do_not_share_noise() -> None:
    check_noise_is_fresh()


def test_who_exceeds_the_bound_is_silenced() -> None:
    check_attackers_are_silenced()
    check_strange_energies_are_silenced()


def test_many_exceeding_at_once_are_all_silenced() -> None:
    """Also where every single block is within the bound and only their sum is not."""
    blocks = one_of_each()
    for kind in (0, 3):
        blocks[kind] = louder(blocks[kind], 11, 0.6)
    alone, _ = exact_release([blocks[0]])
    together, _ = exact_release(blocks)
    muted, _ = exact_release([mute(block, 11) for block in blocks])
    assert not np.array_equal(alone[0], muted[0])
    for got, wanted in zip(together, muted, strict=True):
        assert np.array_equal(got, wanted)


def test_nothing_is_released_but_sum_and_noise() -> None:
    """With the same noise, a release with users in it differs from one without by exactly their sum."""
    blocks = one_of_each()
    empty = blocks
    for user in range(30):
        empty = [mute(block, user) for block in empty]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.privacy.gaussian.gate._RESOLUTION", 2.0**200)
        difference = fixed_release(blocks) - fixed_release(empty)
    assert np.array_equal(difference, np.concatenate([block.total().ravel() for block in blocks]))


def test_releases_lie_on_steps_of_the_noise() -> None:
    check_steps()


def test_rounding_never_lifts_anything_over_a_threshold() -> None:
    check_rounding_goes_down()


def test_every_release_is_charged_its_own_cost() -> None:
    check_every_release_is_charged()


def test_beyond_the_budget_nothing_is_summed_drawn_or_charged() -> None:
    check_budget_holds()


def test_a_release_that_fails_stays_charged() -> None:
    check_failures_stay_charged()


def test_a_closed_run_releases_nothing() -> None:
    ledger = Ledger(BUDGET)
    ledger.close()
    with pytest.raises(UnchargedRelease):
        Gate(ledger).release("late", one_of_each(), mu=MU)


def test_a_run_that_ends_while_a_release_is_made_releases_nothing() -> None:
    """What was charged after all is not in the statement that ended the run."""
    ledger = Ledger(BUDGET)

    class Ends(Noise):
        def normals(self, size: int) -> np.ndarray:
            ledger.close()
            return super().normals(size)

    with pytest.raises(UnchargedRelease, match="the run is over"):
        Gate(ledger, Ends()).release("late", one_of_each(), mu=MU)


def test_too_fine_and_too_large_noise_is_refused() -> None:
    check_grid_is_checked()


def test_no_number_of_users_is_refused() -> None:
    """A refusal by the exact number of users would tell neighbours apart at that number."""
    for count in (2**13 - 1, 2**13, 2**13 + 1):
        block = UserVector("crowd", 2.0**40, np.zeros((count, 1), np.int32))
        Gate(Ledger(BUDGET)).release("any crowd", [block], mu=MU)


@pytest.mark.parametrize("mu", [0.0, -0.1, float("nan")])
def test_a_release_must_cost_something(mu: float) -> None:
    gate = Gate(Ledger(BUDGET))
    with pytest.raises(BudgetInvalid, match="more than nothing"):
        gate.release("free", one_of_each(), mu=mu)
    with pytest.raises(SettingsInvalid, match="finer"):
        gate.release("without noise", one_of_each(), mu=float("inf"))
    assert gate.ledger.charges == ()


def test_a_cost_in_single_precision_is_paid_in_double() -> None:
    noise = Scales()
    Gate(Ledger(BUDGET), noise).release("single", one_of_each(), mu=np.float32(0.01))
    for sigma, block in zip(noise.drawn, one_of_each(), strict=True):
        assert sigma.dtype == np.float64
        assert sigma.min() >= block.sigmas(float(np.float32(0.01))).min() * (1.0 + 0.9e-9)


def test_fixed_noise_is_marked() -> None:
    check_fixed_noise_is_marked()


def test_threads_and_order_of_users_do_not_show() -> None:
    """The whole way from real-valued statistics to noisy sums, with the same noise."""
    rng = np.random.default_rng(12)
    world = ordinary_world(rng, True)
    wanted = fixed_release(world.blocks())
    for threads in (1, 2):
        with kernels.threads(threads):
            assert np.array_equal(fixed_release(world.blocks()), wanted)
            other = world.take(rng.permutation(world.n_users))
            assert np.array_equal(fixed_release(other.blocks()), wanted)
