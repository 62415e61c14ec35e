"""Bugs put in on purpose: each must be caught by a check that the code as it stands passes."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import kernels
from discreet.errors import DiscreetError
from discreet.privacy import ledger
from discreet.privacy import ledger as tokens
from discreet.privacy.gaussian import (
    blocks,
    energy_scaled,
    gate,
    item_blocks,
    noise,
    tallies,
    totals,
)
from discreet.privacy.gaussian.clipped import clip_entries
from tests.privacy.bugs import (
    Bug,
    apply,
    charged_late,
    charged_once,
    halved_diagonal,
    item_maximum,
    nothing,
    plain_generator,
    quiet_corners,
    same_block,
    silence_others,
    single_sums,
)
from tests.privacy.checks.gate import (
    check_attackers_are_silenced,
    check_budget_holds,
    check_every_release_is_charged,
    check_failures_stay_charged,
    check_fixed_noise_is_marked,
    check_grid_is_checked,
    check_repeated_pairs_are_refused,
    check_rounding_goes_down,
    check_scales,
    check_steps,
    check_strange_energies_are_silenced,
    check_totals_are_checked,
)
from tests.privacy.checks.neighbours import check_activity, check_nobody_else_moves, check_ordinary_neighbours
from tests.privacy.checks.noise import (
    check_item_noise,
    check_noise_is_fresh,
    check_noise_is_whole,
    check_source_is_cryptographic,
    check_symmetric_noise,
)

_BUILD = (energy_scaled.EnergyScaledSums, "blocks")
_TRUNCATED = "kernels.truncated(starts, values.ravel(), scale).reshape(values.shape)"
_RELEASE = (gate.Gate, "release_totals")
_UNGUARDED = tuple(
    (kind, "without", same_block)
    for kind in (
        item_blocks.ItemVector,
        item_blocks.ItemMatrix,
        item_blocks.ItemWeight,
        item_blocks.UserMatrix,
        blocks.UserVector,
    )
)

# Mistakes in scaling a user. With the gate's own check in place they harm nobody and silence everybody; without it
# they move sums too far. Both must show.
_CLIPS = {
    "no scaling": ((energy_scaled, "_weights", ("MARGIN / np.sqrt(energy[active])", "1.0")),),
    "clipped by max, as printed in the paper": (
        (
            energy_scaled,
            "_weights",
            ("MARGIN / np.sqrt(energy[active])", "np.maximum(1.0, MARGIN / np.sqrt(energy[active]))"),
        ),
    ),
    "scaled by energy, not by its root": (
        (energy_scaled, "_weights", ("np.sqrt(energy[active])", "np.minimum(energy[active], 0.5)")),
    ),
    "gradient left out of the energy": (
        (*_BUILD, ("energy = norms**2 * pattern", "energy = 0.0 * pattern")),
    ),
    "item weight left out of the energy": (
        (*_BUILD, ("energy += square_weights / units.weight**2", "pass")),
    ),
    "moment left out of the energy": ((*_BUILD, ("energy += (moment_norms / units.moment) ** 2", "pass")),),
    "companion left out of the moment's norm": ((*_BUILD, ("(norms**2 + companions**2)", "(norms**2)")),),
    "counts left out of the moment's norm": ((*_BUILD, ("moment_counts * (norms**2", "(norms**2")),),
    "item weights left out of the gradient's norm": (
        (
            *_BUILD,
            ("pattern.user_squares(item_weights, residuals)", "pattern.user_squares(values=residuals)"),
        ),
    ),
    "features rounded to nearest": (
        (energy_scaled, "_grid", (_TRUNCATED, "np.rint(values * scale[:, None]).astype(np.int16)")),
    ),
    "targets rounded to nearest": (
        (
            energy_scaled,
            "_gradient",
            (
                "kernels.truncated(pattern.indptr, residuals, per_user)",
                "np.rint(residuals * np.repeat(per_user, np.diff(pattern.indptr))).astype(np.int16)",
            ),
        ),
    ),
    "features rounded up": (
        (energy_scaled, "_grid", (_TRUNCATED, "np.ceil(values * scale[:, None]).astype(np.int16)")),
    ),
}

BUGS = [
    *(Bug(name, check_ordinary_neighbours, changes) for name, changes in _CLIPS.items()),
    *(
        Bug(f"{name}, gate's check off", check_ordinary_neighbours, changes + _UNGUARDED)
        for name, changes in _CLIPS.items()
    ),
    Bug(
        "sensitivity of one item for that of all, sqrt(k) too small",
        check_ordinary_neighbours,
        ((blocks.Pattern, "user_squares", item_maximum),),
    ),
    Bug(
        "weights normalised by an exact mean over users",
        check_nobody_else_moves,
        (
            (
                energy_scaled,
                "_weights",
                ("return omega", "return omega * (0.9 + 0.05 * np.tanh(energy.mean()))"),
            ),
        ),
    ),
    Bug(
        "repeated pairs let in",
        check_repeated_pairs_are_refused,
        ((blocks.Pattern, "__post_init__", nothing),),
    ),
    Bug(
        "order of pairs checked by a difference of unsigned numbers",
        check_repeated_pairs_are_refused,
        (
            (
                blocks.Pattern,
                "__post_init__",
                ("self.items[1:] > self.items[:-1]", "np.diff(self.items) > 0"),
            ),
        ),
    ),
    Bug("nobody silenced", check_attackers_are_silenced, _UNGUARDED),
    Bug(
        "the wrong ones silenced",
        check_attackers_are_silenced,
        ((blocks, "silenced", silence_others), (item_blocks, "silenced", silence_others)),
    ),
    Bug(
        "everybody silenced when one exceeds",
        check_attackers_are_silenced,
        ((totals, "bounded", ("block.without(excess)", "block.without(excess | True)")),),
    ),
    Bug(
        "energies of one block checked alone",
        check_attackers_are_silenced,
        ((totals, "total_energies", lambda blocks: blocks[0].energies()),),
    ),
    Bug(
        "an energy that is not a number passes",
        check_strange_energies_are_silenced,
        (
            (
                totals,
                "bounded",
                (
                    "~(total_energies(blocks) <= 1.0 + SLACK)",
                    "total_energies(blocks) > 1.0 + SLACK",
                ),
            ),
        ),
    ),
    Bug(
        "noise from an ordinary generator",
        check_source_is_cryptographic,
        ((noise, "_fill", plain_generator),),
    ),
    Bug(
        "keys of 32 bits",
        check_source_is_cryptographic,
        ((noise.Noise, "_next_key", ("secrets.randbits(128)", "secrets.randbits(32)")),),
    ),
    Bug(
        "keys from an ordinary generator",
        check_source_is_cryptographic,
        (
            (
                noise.Noise,
                "_next_key",
                ("secrets.randbits(128)", "int(np.random.default_rng(self._blocks).integers(2**63))"),
            ),
        ),
    ),
    Bug("noise reused", check_noise_is_fresh, ((noise.Noise, "_next_key", lambda self: 12345),)),
    Bug(
        "noise of long draws reused from the second block on",
        check_noise_is_fresh,
        ((noise.Noise, "normals", ("self._next_key()) for", "7 if start else self._next_key()) for")),),
    ),
    Bug(
        "noise not divided by the item's weight",
        check_scales,
        ((item_blocks._ItemBlock, "_sigma", ("(mu * self.item_weights)", "(mu + 0.0 * self.item_weights)")),),
    ),
    Bug(
        "noise multiplied by the item's weight",
        check_item_noise,
        ((item_blocks._ItemBlock, "_sigma", ("(mu * self.item_weights)", "mu * self.item_weights")),),
    ),
    Bug(
        "noise smaller by 1 %",
        check_item_noise,
        ((noise.Noise, "integers", ("noise[rows] *= sigma[rows]", "noise[rows] *= 0.99 * sigma[rows]")),),
    ),
    Bug(
        "noise larger by 1 %",
        check_item_noise,
        ((noise.Noise, "integers", ("noise[rows] *= sigma[rows]", "noise[rows] *= 1.01 * sigma[rows]")),),
    ),
    Bug(
        "noise of matrices smaller by 1 %",
        check_symmetric_noise,
        (
            (
                noise.Noise,
                "symmetric_integers",
                ("values *= sigma[:, None]", "values *= 0.99 * sigma[:, None]"),
            ),
        ),
    ),
    Bug(
        "half the variance on the diagonal",
        check_symmetric_noise,
        ((noise.Noise, "symmetric_integers", halved_diagonal),),
    ),
    Bug(
        "a quarter of the variance beside the diagonal",
        check_symmetric_noise,
        ((noise.Noise, "symmetric_integers", quiet_corners),),
    ),
    Bug(
        "more mu spent than charged",
        check_scales,
        ((gate, "paid", ("mu / (1.0 + SLACK)", "mu * 1.01")),),
    ),
    Bug("slack of the check not paid", check_scales, ((gate, "paid", ("mu / (1.0 + SLACK)", "mu")),)),
    Bug(
        "noise not rounded",
        check_noise_is_whole,
        ((noise.Noise, "integers", ("np.rint(noise[rows], out=noise[rows])", "pass")),),
    ),
    Bug("released to the last bit", check_steps, ((gate, "_coarse", lambda noisy, sigma: noisy),)),
    Bug("rounded up", check_rounding_goes_down, ((gate, "_coarse", ("np.floor", "np.ceil")),)),
    Bug(
        "sums in single precision",
        check_nobody_else_moves,
        ((kernels, "item_sums", single_sums),),
    ),
    Bug(
        "a release is not charged",
        check_every_release_is_charged,
        ((tokens.Charges, "_pay", ("self._charges.append(charge)", "pass")),),
    ),
    Bug(
        "a release is not charged and the token not asked for",
        check_every_release_is_charged,
        (
            (tokens.Charges, "_pay", ("self._charges.append(charge)", "pass")),
            (ledger.Ledger, "redeem", nothing),
        ),
    ),
    Bug(
        "two releases for one charge",
        check_every_release_is_charged,
        ((ledger.Ledger, "charge", charged_once), (ledger.Ledger, "redeem", nothing)),
    ),
    Bug(
        "half of mu charged",
        check_every_release_is_charged,
        ((*_RELEASE, ("charge(name, mu=mu,", "charge(name, mu=mu / 2,")),),
    ),
    Bug("delta not charged", check_every_release_is_charged, ((*_RELEASE, ("delta=delta,", "")),)),
    Bug(
        "delta lost on the way to the charge",
        check_every_release_is_charged,
        ((gate.Gate, "release", ("mu=mu, delta=delta)", "mu=mu)")),),
    ),
    Bug("charged after the release", check_budget_holds, ((*_RELEASE, charged_late),)),
    Bug(
        "charged after the release, failures free",
        check_failures_stay_charged,
        ((*_RELEASE, charged_late),),
    ),
    Bug("over budget let through", check_budget_holds, ((ledger.Ledger, "_refuse_excess", nothing),)),
    Bug(
        "one round too many: the budget asked without the new charge",
        check_budget_holds,
        ((ledger.Ledger, "_refuse_excess", ("compose([spent, charge.mu])", "spent")),),
    ),
    Bug(
        "costs not summed",
        check_budget_holds,
        ((ledger, "compose", lambda mus: float(max(list(mus), default=0.0))),),
    ),
    Bug("noise that 64 bits do not hold", check_grid_is_checked, ((gate, "_LARGEST", np.inf),)),
    Bug("noise that the grid shows through", check_grid_is_checked, ((gate, "check_noise", nothing),)),
    Bug("totals of any blocks taken", check_totals_are_checked, ((gate, "check_totals", nothing),)),
    Bug(
        "users bounded in one unit, noise drawn in another",
        check_totals_are_checked,
        ((gate, "check_totals", ("not np.array_equal(total.unit, form.sigmas(1.0))", "False")),),
    ),
    Bug(
        "one total broadcast over many entries",
        check_totals_are_checked,
        ((gate, "with_noise", ("noise.shape != total.value.shape", "False")),),
    ),
    Bug(
        "noise that is there already added again",
        check_totals_are_checked,
        ((*_RELEASE, ("total.value.copy() if noised else", "")),),
    ),
    Bug(
        "noise left out",
        check_item_noise,
        ((*_RELEASE, ("if noised else", "if True else")),),
    ),
    Bug(
        "fixed noise not marked at the source",
        check_fixed_noise_is_marked,
        ((noise.Noise, "fixed", property(lambda self: False)),),
    ),
    Bug(
        "fixed noise not marked by the gate",
        check_fixed_noise_is_marked,
        ((gate, "why_not_private", lambda noise, kind: None),),
    ),
    Bug(
        "first release bounded as if a user moved one number",
        check_activity,
        ((tallies.ActivitySums, "bound", property(lambda self: 1.0)), *_UNGUARDED),
    ),
    Bug(
        "variances of the first release not in units of the range",
        check_activity,
        ((tallies, "clip_entries", lambda values: 1.2 * clip_entries(values)), *_UNGUARDED),
    ),
]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_deliberate_bug_is_caught(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    bug.check()
    apply(bug, monkeypatch)
    # A check fails by itself, by `pytest.raises` not seeing its error, or by an error of the package's own guards.
    with pytest.raises((AssertionError, DiscreetError, pytest.fail.Exception)), np.errstate(all="ignore"):
        bug.check()


def test_there_are_many_bugs_and_each_has_a_name() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= 70
