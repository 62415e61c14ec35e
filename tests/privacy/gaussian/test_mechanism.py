"""What holds of every mechanism: its bound, its form without users, and that nothing depends on who else is there."""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np
import pytest

from discreet.privacy import Gate, Ledger, gaussian
from discreet.privacy.gaussian import blocks as block_module
from discreet.privacy.gaussian.blocks import MOST_USERS, Block, Mechanism, total_energies
from discreet.privacy.gaussian.gate import release
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.totals import add_totals, exact_totals
from tests.privacy.mechanisms import CASES, hostile_users
from tests.privacy.worlds import BUDGET, LARGE, MU

every_case = pytest.mark.parametrize("name", list(CASES))


def test_no_mechanism_is_left_out() -> None:
    """A new one in the room is tested here or this fails."""
    modules = [
        importlib.import_module(f"{gaussian.__name__}.{module.name}")
        for module in pkgutil.iter_modules(gaussian.__path__)
        if module.name != "gpu_blocks"  # blocks of mechanisms that are here, and needs torch
    ]
    kinds = {
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and kind is not Mechanism and _is_mechanism(kind)
    }
    assert kinds == {type(case.mechanism) for case in CASES.values()}


def _is_mechanism(kind: type) -> bool:
    return all(hasattr(kind, name) for name in ("blocks", "empty", "read"))


@every_case
def test_no_user_moves_a_release_by_more_than_was_charged(name: str) -> None:
    case = CASES[name]
    changes = [change for seed in range(20) for change in case.moves(hostile_users(seed))]
    assert max(changes) <= 1.0 + 1e-9
    assert max(changes) >= case.reached


@every_case
def test_the_bound_holds_before_anybody_is_silenced(name: str) -> None:
    """The gate's own check is there for code that has a mistake in it."""
    for seed in range(20):
        assert total_energies(CASES[name].blocks(hostile_users(seed))).max() <= 1.0 + 1e-12


@every_case
def test_parts_of_users_add_up_to_the_bits_of_the_whole(name: str) -> None:
    rng, case = np.random.default_rng(3), CASES[name]
    for seed in range(6):
        users = hostile_users(seed)
        whole = exact_totals(case.blocks(users))
        for parts in (1, 2, 3, 7, len(users)):
            owner = rng.integers(0, parts, len(users))
            added = exact_totals(case.mechanism.empty())
            for part in range(parts):
                mine = users.take(np.flatnonzero(owner == part).tolist())
                added = add_totals(added, exact_totals(case.blocks(mine)))
            for one, other in zip(whole, added, strict=True):
                assert one.name == other.name
                assert np.array_equal(one.value, other.value)


@every_case
def test_some_users_at_a_time_give_the_same_totals(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, users = CASES[name], hostile_users(2)
    loud = np.arange(len(users)) % 5 == 1
    whole = [block.without(loud).total() for block in case.blocks(users)]  # not by way of parts
    monkeypatch.setattr(block_module, "MOST_USERS", 4)
    blocks = [block.without(loud) for block in case.blocks(users)]
    for one, other, block in zip(whole, exact_totals(blocks), blocks, strict=True):
        assert case.wide or len(block.parts()) == -(-len(users) // 4)
        assert np.array_equal(one, other.value)


@every_case
def test_silenced_users_count_for_nothing_and_others_stay(name: str) -> None:
    case, users = CASES[name], hostile_users(2)
    loud = np.arange(len(users)) % 5 == 1
    others = case.blocks(users.take(np.flatnonzero(~loud).tolist()))
    for block, rest in zip(case.blocks(users), others, strict=True):
        silenced = block.without(loud)
        assert np.array_equal(silenced.total(), rest.total())
        assert not silenced.energies()[loud].any()
        assert np.array_equal(silenced.energies()[~loud], rest.energies())


@every_case
def test_nobody_hands_in_more_than_exactness_allows_for(name: str) -> None:
    """Double precision adds up those of MOST_USERS, and 64 bits those of 2^32; of wide ones those of 2^30."""
    case = CASES[name]
    largest, exact = (2.0**32, 2.0**62 / 2.0**30) if case.wide else (2.0**31, 2.0**53 / MOST_USERS)
    for seed in range(6):
        users = hostile_users(seed)
        alone = [case.blocks(users.take([user])) for user in range(len(users))]
        for place, _ in enumerate(case.mechanism.empty()):
            parts = np.abs([part[place].total() for part in alone])
            assert 0.0 < parts.max() <= largest
            assert parts.max() < exact


@every_case
def test_nobodys_blocks_are_public_and_have_the_form_of_everybodys(name: str) -> None:
    case = CASES[name]
    for seed in (0, 1):
        full, empty = case.blocks(hostile_users(seed)), case.mechanism.empty()
        assert [_form(block) for block in empty] == [_form(block) for block in full]
        for block, other in zip(empty, full, strict=True):
            assert np.array_equal(block.sigmas(MU), other.sigmas(MU))
            # Shape and scale of the noise: the same key gives the same numbers.
            noise = [kind.noise(Noise.fixed_key_not_private("k"), MU) for kind in (block, other)]
            assert np.array_equal(*noise)
            assert not block.total().any()
            assert block.energies().shape == (0,)


def _form(block: Block) -> tuple[type, str, float, tuple[int, ...]]:
    return type(block), block.name, block.unit, block.total().shape


@every_case
def test_the_release_of_nobody_is_read_like_any_other(name: str) -> None:
    case, gate = CASES[name], Gate(Ledger(LARGE))
    forms = case.mechanism.empty()
    read = case.mechanism.read(gate.release("nobody", forms, mu=case.mu), case.mu)
    numbers = (
        [read] if isinstance(read, float) else vars(read).values() if hasattr(read, "__dict__") else read
    )
    assert all(np.isfinite(part).all() for part in numbers if part is not None)


def test_release_is_contribute_release_and_read() -> None:
    case, users = CASES["item tallies"], hostile_users(0)
    gates = [Gate(Ledger(BUDGET), Noise.fixed_key_not_private("k")) for _ in range(2)]
    one = release(gates[0], "r", case.mechanism, users.pattern, users.flat, mu=MU)
    other = case.mechanism.read(gates[1].release("r", case.blocks(users), mu=MU), MU)
    for left, right in zip(one, other, strict=True):
        assert np.array_equal(left, right)
    assert [[charge.mu for charge in gate.ledger.charges] for gate in gates] == [[MU], [MU]]
