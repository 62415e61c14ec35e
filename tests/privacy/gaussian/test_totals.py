"""Exact totals: whoever exceeds the bound is left out first, sums stay exact, and a gate checks what it is handed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from discreet.errors import BudgetInvalid, SettingsInvalid
from discreet.privacy import Gate, Ledger
from discreet.privacy.gaussian import blocks as block_module
from discreet.privacy.gaussian.blocks import Block, Pattern, UserVector
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.pairs import PairAmounts, Pairs
from discreet.privacy.gaussian.shares import SiloGate
from discreet.privacy.gaussian.totals import Total, add_totals, exact_totals
from tests.privacy.checks.samples import louder, mute, one_of_each
from tests.privacy.mechanisms import CASES, hostile_users
from tests.privacy.worlds import BUDGET, LARGE, MU, Floats, Scales


def test_who_exceeds_the_bound_is_not_in_the_totals() -> None:
    blocks = one_of_each()
    blocks[2] = louder(blocks[2], 7, 1.5)
    for one, block in zip(exact_totals(blocks), blocks, strict=True):
        assert np.array_equal(one.value, mute(block, 7).total())
        assert one.value.dtype == np.int64


@pytest.mark.parametrize("kind", ["each", "pairs"])
def test_users_are_added_in_place_to_others_and_bounded_before(kind: str) -> None:
    blocks = one_of_each() if kind == "each" else pairs_of(20)
    loud = [mute(blocks[0], 7), *blocks[1:]] if kind == "each" else [heavier(blocks[0], 7)]
    onto = exact_totals(blocks)
    wanted = add_totals(exact_totals(blocks), exact_totals(loud))
    for found, total, sum_of_both in zip(exact_totals(loud, onto), onto, wanted, strict=True):
        assert found.value is total.value
        assert np.array_equal(found.value, sum_of_both.value)
    assert not np.array_equal(wanted[0].value, 2 * exact_totals(blocks)[0].value)


def test_users_are_added_to_totals_of_their_own_kind_alone() -> None:
    for block in [*one_of_each(), *pairs_of(20)]:
        (total,) = exact_totals([block])
        before = total.value.copy()
        for wrong, words in (
            (total._replace(unit=total.unit * 2.0), "different units"),
            (total._replace(name="b"), "another block or shape"),
            (total._replace(value=np.zeros((3, *total.value.shape), np.int64)), "shape"),
        ):
            with pytest.raises((SettingsInvalid, ValueError), match=words):
                exact_totals([block], [wrong])
            assert np.array_equal(total.value, before)
    with pytest.raises(ValueError, match="zip"):
        exact_totals([block], [])


def pairs_of(users: int) -> list[Block]:
    rng = np.random.default_rng(5)
    held = rng.random((users, 6)) < 0.6
    pattern = Pattern(np.concatenate([[0], np.cumsum(held.sum(1))]), np.nonzero(held)[1].astype(np.int32), 6)
    return Pairs(6).blocks(pattern, rng.integers(0, 21, len(pattern.items)).astype(np.int16))


def heavier(block: Block, user: int) -> Block:
    """One user counts twice what their length allows."""
    assert isinstance(block, PairAmounts)
    amounts = block.amounts.copy()
    amounts[user] *= 2
    return replace(block, amounts=amounts)


@pytest.mark.parametrize("most", [1, 7, 29])
def test_users_taken_in_parts_give_the_same_totals(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = exact_totals(one_of_each())
    sizes = []
    monkeypatch.setattr(block_module, "MOST_USERS", most)
    for one, block in zip(whole, blocks := one_of_each(), strict=True):
        sizes.append(len(block.parts()))
        assert all(len(part.energies()) <= most for part in block.parts())
        assert np.array_equal(np.concatenate([part.energies() for part in block.parts()]), block.energies())
        (total,) = exact_totals([block])
        assert np.array_equal(total.value, one.value)
    assert len(blocks) == len(sizes)
    assert set(sizes) == {-(-30 // most)}


def test_sums_that_double_precision_would_round_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """2^53 + 1: added up in one go in double precision, the last user would be lost."""
    monkeypatch.setattr(block_module, "MOST_USERS", 2)
    odd = [Held(2.0**52), Held(2.0**52), Held(1.0)]
    (total,) = exact_totals([Crowd(odd)])
    assert total.value.tolist() == [2**53 + 1]


def test_sums_that_pass_64_bits_wrap_around_and_release_what_the_exact_sum_would() -> None:
    """Post-processing of the exact noisy sum: no size is refused, so none tells neighbours apart."""
    block = UserVector("sums", 2.0**30, np.zeros((1, 3), np.int32))
    near = [Total("sums", np.array([2**63 - 1, -(2**63), 5]), block.sigmas(1.0))]
    far = [Total("sums", np.array([-1, 0, 5]), block.sigmas(1.0))]
    key = Noise.fixed_key_not_private
    one, other = (
        Gate(Ledger(BUDGET), key("k")).release_totals("r", [block], totals, mu=MU)["sums"]
        for totals in (near, far)
    )
    assert np.array_equal(np.abs(one - other), [2.0**63, 2.0**63, 0.0])


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


@dataclass(frozen=True)
class Held:
    """What one user hands in, however large."""

    value: float


@dataclass(frozen=True)
class Crowd:
    """A block whose users fill the bits that double precision has."""

    users: list[Held]
    name: str = "crowd"
    unit: float = 2.0**53

    def energies(self) -> Floats:
        return np.zeros(len(self.users))

    def without(self, users: object) -> Crowd:
        return self

    def parts(self) -> list[Crowd]:
        return [Crowd(self.users[start:stop]) for start, stop in block_module.spans(len(self.users))]

    def total(self) -> Floats:
        return np.array([sum(user.value for user in self.users)])

    def sigmas(self, mu: float) -> Floats:
        return np.array(self.unit / mu)

    def noise(self, source: Noise, mu: float) -> Floats:
        return source.integers(np.array([self.unit / mu]))


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
def test_totals_that_are_no_integers_are_refused_and_cost_nothing(kind: int) -> None:
    gate, blocks = gates()[kind], one_of_each()
    totals = exact_totals(blocks)
    for wrong in (totals[0].value.astype(np.float64), totals[0].value.astype(np.int32)):
        with pytest.raises(SettingsInvalid, match="not integers"):
            let_out(gate, blocks, [totals[0]._replace(value=wrong), *totals[1:]])
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
    for value in (np.zeros(1, np.int64), np.zeros((2, *totals[4].value.shape), np.int64)):
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


@pytest.mark.parametrize("name", list(CASES))
def test_silos_and_one_gate_release_the_same_sums(name: str) -> None:
    """Users dealt out to three silos, a trusted server's noise: the same bits as from one table."""
    case, users = CASES[name], hostile_users(1)
    forms = list(case.mechanism.empty())
    added = [np.zeros(form.total().shape, np.int64) for form in forms]
    for silo in range(3):
        totals = exact_totals(case.blocks(users.take(list(range(silo, len(users), 3)))))
        out = SiloGate(Ledger(LARGE), None).totals("r", forms, totals, mu=case.mu, detail={})
        added = [one + other for one, other in zip(added, out, strict=True)]
    for one, total in zip(added, exact_totals(case.blocks(users)), strict=True):
        assert np.array_equal(one, total.value)
