"""Exact totals: whoever exceeds the bound is left out first, sums stay exact, and a gate checks what it is handed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import BudgetInvalid, SettingsInvalid
from discreet.privacy import Gate, Ledger
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.silo_gate import SiloGate
from discreet.privacy.gaussian.totals import EXACT, Total, add_totals, exact_totals
from tests.privacy.checks.samples import louder, mute, one_of_each
from tests.privacy.mechanisms import CASES, hostile_users
from tests.privacy.worlds import BUDGET, LARGE, MU, Floats, Scales

TINY = Total("a", np.array([1.0, -2.0]), 3.0, np.array(5.0))


def without_users(blocks: list[Block]) -> list[Block]:
    for user in range(30):
        blocks = [mute(block, user) for block in blocks]
    return blocks


def test_who_exceeds_the_bound_is_not_in_the_totals() -> None:
    blocks = one_of_each()
    blocks[2] = louder(blocks[2], 7, 1.5)
    for one, block in zip(exact_totals(blocks), blocks, strict=True):
        assert np.array_equal(one.value, mute(block, 7).total())
        assert one.largest == block.largest_entry()


def test_totals_add_up_and_so_do_their_bounds() -> None:
    other = Total("a", np.array([2.0**50, 2.0]), 2.0**51, np.array(5.0))
    (added,) = add_totals([TINY], [other])
    assert added.name == "a"
    assert added.value.tolist() == [2.0**50 + 1.0, 0.0]
    assert added.largest == 2.0**51 + 3.0
    assert TINY.value.tolist() == [1.0, -2.0]


def test_totals_that_might_not_stay_exact_are_refused() -> None:
    half = replace_largest(TINY, EXACT / 2)
    with pytest.raises(SettingsInvalid, match="too many users"):
        add_totals([half], [half])
    with pytest.raises(SettingsInvalid, match="too many users"):
        add_totals([TINY], [replace_largest(TINY, float("nan"))])


@pytest.mark.parametrize("kind", range(3))
def test_users_bounded_in_another_unit_than_the_noise_is_drawn_in_never_leave(kind: int) -> None:
    """A block that counts a user of norm 500 as 1: its totals are refused beside the mechanism's own noise."""
    blocks = one_of_each()
    totals = exact_totals(blocks)
    for number, total in enumerate(totals):
        louder_unit = [*totals[:number], total._replace(unit=total.unit * 500.0), *totals[number + 1 :]]
        gate = gates()[kind]
        with pytest.raises(SettingsInvalid, match="another unit"):
            let_out(gate, blocks, louder_unit)
        assert gate.ledger.charges == ()
        with pytest.raises(SettingsInvalid, match="different units"):
            add_totals([total], [louder_unit[number]])


def test_totals_of_different_lists_of_blocks_do_not_add_up() -> None:
    with pytest.raises(ValueError, match="zip"):
        add_totals([TINY, TINY], [TINY])
    with pytest.raises(SettingsInvalid, match="other"):
        add_totals([TINY], [TINY._replace(name="b")])
    with pytest.raises(SettingsInvalid, match="shape"):
        add_totals([TINY], [TINY._replace(value=np.array([1.0]))])


def replace_largest(total: Total, largest: float) -> Total:
    return total._replace(largest=largest)


def gates() -> list[Gate | SiloGate]:
    return [
        Gate(Ledger(BUDGET), Scales()),
        SiloGate(Ledger(BUDGET), Scales()),
        SiloGate(Ledger(BUDGET), None),
    ]


def let_out(gate: Gate | SiloGate, forms: list[Block], totals: list[Total], mu: float = MU) -> object:
    if isinstance(gate, Gate):
        return gate.release_totals("r", forms, totals, mu=mu)
    return gate.totals("r", forms, totals, mu=mu, detail={})


def test_release_is_release_totals_of_exact_totals() -> None:
    """The forms may be those of nobody: only names, units and noise are read."""
    blocks, key = one_of_each(), Noise.fixed_key_not_private
    wanted = Gate(Ledger(BUDGET), key("k")).release("r", blocks, mu=MU)
    for forms in (blocks, without_users(blocks)):
        released = Gate(Ledger(BUDGET), key("k")).release_totals("r", forms, exact_totals(blocks), mu=MU)
        for name, value in wanted.items():
            assert np.array_equal(released[name], value)


@pytest.mark.parametrize("kind", range(3))
def test_totals_of_other_blocks_are_refused_and_cost_nothing(kind: int) -> None:
    gate, blocks = gates()[kind], one_of_each()
    totals = exact_totals(blocks)
    renamed = [totals[0]._replace(name="other"), *totals[1:]]
    for wrong in (totals[:-1], totals[::-1], [*totals, totals[0]], renamed, []):
        with pytest.raises(SettingsInvalid, match="totals of other blocks"):
            let_out(gate, blocks, wrong)
    assert gate.ledger.charges == ()


@pytest.mark.parametrize("kind", range(3))
def test_totals_that_are_too_large_are_refused_and_cost_nothing(kind: int) -> None:
    gate, blocks = gates()[kind], one_of_each()
    totals = exact_totals(blocks)
    for largest in (EXACT, np.inf, np.nan):
        with pytest.raises(SettingsInvalid, match="too many users"):
            let_out(gate, blocks, [replace_largest(totals[0], largest), *totals[1:]])
    assert gate.ledger.charges == ()


@pytest.mark.parametrize("kind", range(3))
def test_totals_must_cost_something_and_have_noise_above_the_grid(kind: int) -> None:
    gate, blocks = gates()[kind], one_of_each()
    totals = exact_totals(blocks)
    for mu in (0.0, -1.0, float("nan")):
        with pytest.raises(BudgetInvalid, match="more than nothing"):
            let_out(gate, blocks, totals, mu)
    with pytest.raises(SettingsInvalid, match="finer"):
        let_out(gate, [replace(blocks[0], unit=1.0), *blocks[1:]], totals)
    assert gate.ledger.charges == ()


@pytest.mark.parametrize("kind", range(2))
def test_a_total_of_another_shape_never_meets_noise(kind: int) -> None:
    """Broadcast, one total would count for many entries, or one noise would."""
    blocks = one_of_each()
    totals = exact_totals(blocks)
    for value in (np.zeros(1), np.zeros((2, *totals[4].value.shape))):
        with pytest.raises(SettingsInvalid, match="shape"):
            let_out(gates()[kind], blocks, [*totals[:4], totals[4]._replace(value=value)])


def test_noise_that_is_in_the_totals_already_is_not_added_again() -> None:
    blocks, scales = one_of_each(), Scales()
    gate = Gate(Ledger(BUDGET), scales)
    totals = exact_totals(blocks)
    kept = [total.value.copy() for total in totals]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.privacy.gaussian.gate._RESOLUTION", 2.0**200)
        released = gate.release_totals("r", blocks, totals, mu=MU, noised=True)
    assert scales.drawn == []
    for total, before in zip(totals, kept, strict=True):
        assert np.array_equal(released[total.name], before)
        assert np.array_equal(total.value, before)
    assert [charge.mu for charge in gate.ledger.charges] == [MU]


def test_totals_with_noise_in_them_are_rounded_to_steps_as_well() -> None:
    blocks = one_of_each()
    released = Gate(Ledger(BUDGET)).release_totals("r", blocks, exact_totals(blocks), mu=MU, noised=True)
    for block in blocks:
        steps = released[block.name] / 2.0 ** np.floor(np.log2(block.sigmas(MU) / 2.0**14))
        assert np.array_equal(steps, np.floor(steps))


@pytest.mark.parametrize("name", list(CASES))
def test_silos_and_one_gate_release_the_same_sums(name: str) -> None:
    """Users dealt out to three silos, a trusted server's noise: the same bits as from one table."""
    case, users = CASES[name], hostile_users(1)
    forms = list(case.mechanism.empty())
    added: list[Floats] = [np.zeros_like(form.total()) for form in forms]
    for silo in range(3):
        totals = exact_totals(case.blocks(users.take(list(range(silo, len(users), 3)))))
        out = SiloGate(Ledger(LARGE), None).totals("r", forms, totals, mu=case.mu, detail={})
        added = [one + other for one, other in zip(added, out, strict=True)]
    for one, total in zip(added, exact_totals(case.blocks(users)), strict=True):
        assert np.array_equal(one, total.value)
