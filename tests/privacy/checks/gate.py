"""The gate and its ledger: bounded again, scaled as paid, charged first."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from discreet.errors import BudgetExceeded, RatingsInvalid, SettingsInvalid
from discreet.privacy.gaussian.blocks import Pattern, UserVector
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.totals import exact_totals
from discreet.privacy.ledger import Ledger
from discreet.privacy.statement import Statement
from tests.privacy.checks.samples import Loud, fixed_release, louder, mute, one_of_each
from tests.privacy.worlds import BUDGET, MU, Scales, exact_release


def check_scales() -> None:
    """Every block's noise has scale unit / (mu c_j), and the slack of the energy check is paid for."""
    blocks = one_of_each()
    _, drawn = exact_release(blocks)
    for block, sigma in zip(blocks, drawn, strict=True):
        weights = getattr(block, "item_weights", np.ones(1))
        wanted = block.unit / (MU * weights.reshape(-1, *[1] * (sigma.ndim - 1)))
        ratio = sigma / wanted
        assert ratio.min() >= 1.0 + 0.9e-9, f"{block.name}: noise {ratio.min()} times what it must be"
        assert ratio.max() <= 1.0 + 1.1e-9, f"{block.name}: noise {ratio.max()} times what it must be"


def check_attackers_are_silenced() -> None:
    """Whoever exceeds the bound, in any block, counts for nothing in all of them; everybody else counts as before."""
    for kind in range(5):
        for energy in (0.5, 1.0 - 1e-6, 1.0 + 1e-6, 2.0, 1e3):
            blocks, user = one_of_each(), 7
            blocks[kind] = louder(blocks[kind], user, energy)
            got = fixed_release(blocks, exact=True)
            silent = fixed_release([mute(block, user) for block in blocks], exact=True)
            assert np.array_equal(got, silent) == (energy > 1.0), f"{blocks[kind].name} of energy {energy}"


def check_strange_energies_are_silenced() -> None:
    """An energy that is not a number is no reason to let its owner through."""
    for strange in (np.nan, np.inf):
        for user in (0, 2):
            released, _ = exact_release([Loud(np.where(np.arange(3) == user, strange, 0.5))])
            assert released[0][0] == 2.0


def check_repeated_pairs_are_refused() -> None:
    """A user who adds to one item twice would count twice for energies of one."""
    for kind in (np.int32, np.int64, np.uint32):
        for items in ([3, 3], [1, 4, 4], [4, 2], [5, 3, 5], [0, 1, 0]):
            with pytest.raises(RatingsInvalid):
                Pattern(np.array([0, len(items)]), np.array(items, kind), 6)
            with pytest.raises(RatingsInvalid):
                Pattern(np.array([0, 1, 1 + len(items), 2 + len(items)]), np.array([5, *items, 0], kind), 6)


def check_steps() -> None:
    """What leaves lies on steps coarse enough to hide where a generator of 52 bits puts its points, and no coarser."""
    for unit, mu in ((2.0**9, 0.2), (2.0**20, 0.2), (2.0**40, 0.01), (2.0**50, 0.01), (2.0**38, 1e-6)):
        block = UserVector("sums", unit, np.arange(100_000, dtype=np.int32)[None, :] % 200)
        released = np.sort(Gate(Ledger(BUDGET)).release("steps", [block], mu=mu)["sums"])
        gaps = np.diff(released)
        smallest = gaps[gaps > 0].min() / (unit / mu)
        assert max(2.0**-15, mu / unit) <= smallest <= 2.0**-10, f"steps of {smallest} standard deviations"


def check_rounding_goes_down() -> None:
    """Steps are taken downwards, so a choice by threshold keeps the error probability of the exact noisy sum."""
    block = UserVector("sums", 2.0**30, np.zeros((1, 10_000), np.int32))
    rounded, exact = fixed_release([block]), fixed_release([block], exact=True)
    assert (rounded <= exact).all()
    assert 0.0 < (exact - rounded).max() < 2.0**30 / MU / 2**14


def check_every_release_is_charged() -> None:
    """The ledger has one charge for each release, of the release's own mu and delta."""
    ledger = Ledger(BUDGET)
    gate = Gate(ledger)
    for number in range(3):
        gate.release(f"round {number}", one_of_each(), mu=MU, delta=1e-8)
        assert [(charge.mu, charge.delta) for charge in ledger.charges] == [(MU, 1e-8)] * (number + 1)
    assert ledger.spent_mu == pytest.approx(MU * np.sqrt(3.0))


def check_budget_holds() -> None:
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


def check_failures_stay_charged() -> None:
    """What was charged and then failed stays spent: noise may have been seen."""
    gate = Gate(Ledger(BUDGET))
    with mock.patch.object(UserVector, "noise", side_effect=MemoryError), pytest.raises(MemoryError):
        gate.release("fails", one_of_each(), mu=BUDGET.mu)
    assert gate.ledger.spent_mu == BUDGET.mu
    with pytest.raises(BudgetExceeded):
        gate.release("again", one_of_each(), mu=BUDGET.mu)


def check_grid_is_checked() -> None:
    """Noise that the grid shows through, or that 64 bits do not hold, is refused and costs nothing."""
    gate = Gate(Ledger(BUDGET))
    fine = Loud(np.zeros(3), unit=1023.0 * MU)
    coarse = Loud(np.zeros(3), unit=2.0**59 * MU)
    for block in (fine, coarse):
        with pytest.raises(SettingsInvalid):
            gate.release("unfit", [block], mu=MU)
    assert gate.ledger.charges == ()


def check_totals_are_checked() -> None:
    """Totals of other blocks or shapes never meet noise; noise that is in them already is not added again."""
    blocks = one_of_each()
    totals = exact_totals(blocks)
    gate = Gate(Ledger(BUDGET), noise := Scales())
    wide = totals[0]._replace(unit=2.0 * totals[0].unit)
    for wrong in (
        [totals[0]._replace(name="other"), *totals[1:]],
        totals[:-1],
        totals[::-1],
        [wide, *totals[1:]],
    ):
        with pytest.raises(SettingsInvalid):
            gate.release_totals("other", blocks, wrong, mu=MU)
    assert gate.ledger.charges == ()
    with pytest.raises(SettingsInvalid):
        gate.release_totals("shape", blocks[4:], [totals[4]._replace(value=np.zeros(1, np.int64))], mu=MU)
    noise.drawn.clear()
    gate.release_totals("noised", blocks, totals, mu=MU, noised=True)
    assert noise.drawn == []


def check_fixed_noise_is_marked() -> None:
    """Noise that repeats is known as such to the gate, and its statement promises nothing."""
    noise = Noise.fixed_key_not_private("known")
    assert noise.fixed
    assert not Noise().fixed
    gate = Gate(Ledger(BUDGET), noise)
    gate.release("fixed", one_of_each(), mu=MU)
    statement = Statement.from_ledger(gate.ledger)
    assert (statement.private, statement.fixed_noise_key) == (False, True)
