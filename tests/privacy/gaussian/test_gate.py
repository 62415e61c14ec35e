"""The gate: charged first, bounded again, exact, noised, and nothing else leaves."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from discreet import kernels
from discreet.errors import BudgetExceeded, BudgetInvalid, SettingsInvalid, UnchargedRelease
from discreet.privacy.gaussian.blocks import Pattern, UserVector
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.item_blocks import ItemVector, UserMatrix
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.ledger import Ledger
from discreet.privacy.statement import Statement
from tests.privacy.checks.noise import check_uncorrelated, check_variance
from tests.privacy.checks.samples import Loud, fixed_release, louder, mute, one_of_each
from tests.privacy.worlds import BUDGET, MU, Scales, exact_release, ordinary_world


def test_noise_has_the_scale_that_was_paid_for() -> None:
    """Every block's noise has scale unit / (mu c_j), and the slack of the energy check is paid for."""
    blocks = one_of_each()
    _, drawn = exact_release(blocks)
    for block, sigma in zip(blocks, drawn, strict=True):
        weights = getattr(block, "item_weights", np.ones(1))
        wanted = block.unit / (MU * weights.reshape(-1, *[1] * (sigma.ndim - 1)))
        ratio = sigma / wanted
        assert ratio.min() >= 1.0 + 0.9e-9, f"{block.name}: noise {ratio.min()} times what it must be"
        assert ratio.max() <= 1.0 + 1.1e-9, f"{block.name}: noise {ratio.max()} times what it must be"


def test_noise_of_an_item_has_its_own_weight() -> None:
    """What the gate adds to an item's sums is Gaussian of scale unit / (mu c_j), for each item by its own weight."""
    weights = np.array([0.5, 1.0, 2.0, 8.0])
    pattern = Pattern(np.zeros(2, np.int64), np.empty(0, np.int32), 4)
    features, targets = np.zeros((1, 400_000), np.int16), np.empty(0, np.int16)
    block = ItemVector("sums", 2.0**29, pattern, weights, features, targets)
    released = Gate(Ledger(BUDGET)).release("noise alone", [block], mu=0.1)["sums"]
    for row, weight in zip(released, weights, strict=True):
        check_variance(row, 2.0**29 / (0.1 * weight))
    check_uncorrelated(released[0], released[1])
    check_uncorrelated(released[0, 1:], released[0, :-1])


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


def test_who_exceeds_the_bound_is_silenced() -> None:
    """Whoever exceeds the bound, in any block, counts for nothing in all of them; everybody else counts as before."""
    for kind in range(5):
        for energy in (0.5, 1.0 - 1e-6, 1.0 + 1e-6, 2.0, 1e3):
            blocks, user = one_of_each(), 7
            blocks[kind] = louder(blocks[kind], user, energy)
            got = fixed_release(blocks, exact=True)
            silent = fixed_release([mute(block, user) for block in blocks], exact=True)
            assert np.array_equal(got, silent) == (energy > 1.0), f"{blocks[kind].name} of energy {energy}"


def test_an_energy_that_is_no_number_lets_nobody_through() -> None:
    """An energy that is not a number is no reason to let its owner through."""
    for strange in (np.nan, np.inf):
        for user in (0, 2):
            released, _ = exact_release([Loud(np.where(np.arange(3) == user, strange, 0.5))])
            assert released[0][0] == 2.0


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
    """What leaves lies on steps coarse enough to hide where a generator of 52 bits puts its points, and no coarser."""
    for unit, mu in ((2.0**9, 0.2), (2.0**20, 0.2), (2.0**40, 0.01), (2.0**50, 0.01), (2.0**38, 1e-6)):
        block = UserVector("sums", unit, np.arange(100_000, dtype=np.int32)[None, :] % 200)
        released = np.sort(Gate(Ledger(BUDGET)).release("steps", [block], mu=mu)["sums"])
        gaps = np.diff(released)
        smallest = gaps[gaps > 0].min() / (unit / mu)
        assert max(2.0**-15, mu / unit) <= smallest <= 2.0**-10, f"steps of {smallest} standard deviations"


def test_rounding_never_lifts_anything_over_a_threshold() -> None:
    """Steps are taken downwards, so a choice by threshold keeps the error probability of the exact noisy sum."""
    block = UserVector("sums", 2.0**30, np.zeros((1, 10_000), np.int32))
    rounded, exact = fixed_release([block]), fixed_release([block], exact=True)
    assert (rounded <= exact).all()
    assert 0.0 < (exact - rounded).max() < 2.0**30 / MU / 2**14


def test_every_release_is_charged_its_own_cost() -> None:
    """The ledger has one charge for each release, of the release's own mu and delta."""
    ledger = Ledger(BUDGET)
    gate = Gate(ledger)
    for number in range(3):
        gate.release(f"round {number}", one_of_each(), mu=MU, delta=1e-8)
        assert [(charge.mu, charge.delta) for charge in ledger.charges] == [(MU, 1e-8)] * (number + 1)
    assert ledger.spent_mu == pytest.approx(MU * np.sqrt(3.0))


def test_beyond_the_budget_nothing_is_drawn_or_charged() -> None:
    """A release beyond the budget is refused before any noise is drawn, and costs nothing."""
    for spent, mu in (([], 1.1), ([1.0], 0.1), ([0.5**0.5] * 2, 1e-3), ([0.3] * 11, 0.2)):
        noise = Scales()
        gate = Gate(Ledger(BUDGET), noise)
        for share in spent:
            gate.release("within", one_of_each(), mu=share * BUDGET.mu)
        drawn = len(noise.drawn)
        with pytest.raises(BudgetExceeded):
            gate.release("beyond", one_of_each(), mu=mu * BUDGET.mu)
        assert len(noise.drawn) == drawn
        assert len(gate.ledger.charges) == len(spent)


def test_a_release_that_fails_stays_charged() -> None:
    """What was charged and then failed stays spent: noise may have been seen."""
    gate = Gate(Ledger(BUDGET))
    with mock.patch.object(UserVector, "noise", side_effect=MemoryError), pytest.raises(MemoryError):
        gate.release("fails", one_of_each(), mu=BUDGET.mu)
    assert gate.ledger.spent_mu == BUDGET.mu
    with pytest.raises(BudgetExceeded):
        gate.release("again", one_of_each(), mu=BUDGET.mu)


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
    """Noise that the grid shows through, or that 64 bits do not hold, is refused and costs nothing."""
    gate = Gate(Ledger(BUDGET))
    fine = Loud(np.zeros(3), unit=1023.0 * MU)
    coarse = Loud(np.zeros(3), unit=2.0**59 * MU)
    for block in (fine, coarse):
        with pytest.raises(SettingsInvalid):
            gate.release("unfit", [block], mu=MU)
    assert gate.ledger.charges == ()


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
    """Noise that repeats is known as such to the gate, and its statement promises nothing."""
    noise = Noise.fixed_key_not_private("known")
    assert noise.fixed
    assert not Noise().fixed
    gate = Gate(Ledger(BUDGET), noise)
    gate.release("fixed", one_of_each(), mu=MU)
    statement = Statement.from_ledger(gate.ledger)
    assert (statement.private, statement.fixed_noise_key) == (False, True)


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
