"""Blocks: energies are true norms, sums are exact, and what could make a user count twice is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet import kernels
from discreet.errors import RatingsInvalid, SettingsInvalid
from discreet.privacy.gaussian.blocks import Block, Pattern, UserVector
from discreet.privacy.gaussian.item_blocks import ItemMatrix, ItemVector, ItemWeight, UserMatrix
from tests.kernels import reference
from tests.privacy.checks.samples import mute, one_of_each
from tests.privacy.worlds import Floats


def test_repeated_and_falling_pairs_are_refused() -> None:
    """A user who adds to one item twice would count twice for energies of one."""
    for kind in (np.int32, np.int64, np.uint32):
        for items in ([3, 3], [1, 4, 4], [4, 2], [5, 3, 5], [0, 1, 0]):
            with pytest.raises(RatingsInvalid):
                Pattern(np.array([0, len(items)]), np.array(items, kind), 6)
            with pytest.raises(RatingsInvalid):
                Pattern(np.array([0, 1, 1 + len(items), 2 + len(items)]), np.array([5, *items, 0], kind), 6)


@pytest.mark.parametrize("items", [[-1, 2], [0, 6], [2**31 - 1]])
def test_items_outside_the_catalogue_are_refused(items: list[int]) -> None:
    with pytest.raises(RatingsInvalid, match="outside the catalogue"):
        Pattern(np.array([0, len(items)]), np.array(items), 6)


@pytest.mark.parametrize("indptr", [[], [0], [1, 3], [0, 2], [0, 4], [0, 2, 1, 3], [0, 5, 3], [-1, 3]])
def test_row_pointers_that_do_not_cover_the_pairs_are_refused(indptr: list[int]) -> None:
    """Compiled sums would otherwise read memory that no energy was computed from."""
    with pytest.raises(RatingsInvalid, match="row pointers"):
        Pattern(np.array(indptr, np.int64), np.array([0, 1, 2]), 6)


def _contribution(block: Block, user: int) -> Floats:
    """One user's part of the sums in noise units, by the definition: other users zeroed, plain NumPy sums."""
    alone = block
    for other in range(30):
        if other != user:
            alone = mute(alone, other)
    total = _oracle(alone)
    weights = getattr(block, "item_weights", np.ones(len(total)))
    return total * weights.reshape(-1, *[1] * (total.ndim - 1)) / block.unit


def _oracle(block: Any) -> Floats:
    if isinstance(block, UserVector):
        return block.values.astype(np.float64).sum(axis=0)
    if isinstance(block, UserMatrix):
        return reference.user_moment(block.features)
    indptr, users, position = reference.transpose(
        block.pattern.indptr, block.pattern.items, block.pattern.n_items
    )
    if isinstance(block, ItemVector):
        return reference.item_sums(indptr, users, position, block.features, block.targets)
    if isinstance(block, ItemMatrix):
        return reference.item_moments(indptr, users, block.features)
    return reference.item_weights(indptr, users, block.weights)


@pytest.mark.parametrize("kind", range(5))
def test_energies_are_squared_norms_in_noise_units(kind: int) -> None:
    block = one_of_each()[kind]
    energies = block.energies()
    for user in range(30):
        # Energies are far below the absolute tolerance that approx has by itself.
        exact = float((_contribution(block, user) ** 2).sum())
        assert energies[user] == pytest.approx(exact, rel=1e-13, abs=0.0)


@pytest.mark.parametrize("factor", [1e-170, 1e-100, 1e150])
@pytest.mark.parametrize("kind", range(3))
def test_energies_do_not_vanish_where_weights_and_unit_are_tiny(kind: int, factor: float) -> None:
    """Only c_j / unit matters; the square of either alone may be zero or infinite in floating point."""
    block = one_of_each()[kind]
    scaled = replace(block, unit=block.unit * factor, item_weights=block.item_weights * factor)
    assert scaled.energies() == pytest.approx(block.energies(), rel=1e-12, abs=0.0)


@pytest.mark.parametrize("kind", range(5))
def test_sums_are_exact(kind: int) -> None:
    block = one_of_each()[kind]
    assert np.array_equal(block.total(), _oracle(block))


def test_extreme_integers_do_not_overflow() -> None:
    """-32768 squared, many times over, in every kind of sum."""
    n, low = 1001, np.iinfo(np.int16).min
    pattern = Pattern(np.arange(n + 1), np.zeros(n, np.int32), 2)
    ones, features = np.ones(2), np.full((n, 9), low, np.int16)
    blocks: list[Block] = [
        ItemVector("v", 2.0**40, pattern, ones, features, np.full(n, low, np.int16)),
        ItemMatrix("m", 2.0**40, pattern, ones, features),
        ItemWeight("w", 2.0**40, pattern, ones, np.full(n, np.iinfo(np.int32).min, np.int32)),
        UserMatrix("u", 2.0**40, features),
        UserVector("s", 2.0**40, np.full((n, 9), np.iinfo(np.int32).min, np.int32)),
    ]
    for block, wanted in zip(blocks, (2.0**30, 2.0**30, -(2.0**31), 2.0**30, -(2.0**31)), strict=True):
        total = block.total()
        assert (total[0] == n * wanted).all()
        assert (block.energies() > 0.0).all()


def _crowd(order: Any) -> list[Block]:
    """Enough work that two threads are really used, with the users in the given order."""
    rng = np.random.default_rng(8)
    n, m, d = 80_000, 50, 9
    counts = rng.integers(0, 4, n)
    items = [np.sort(rng.choice(m, count, replace=False)) for count in counts[:2000]]
    items = [items[user % 2000][: counts[user]] for user in range(n)]
    counts = np.array([len(part) for part in items])
    values = rng.integers(-32_768, 32_768, (n, 4), dtype=np.int16)
    features = rng.integers(-32_768, 32_768, (n, d), dtype=np.int16)
    rows = np.arange(n)[order]
    pattern = Pattern(
        np.concatenate([[0], np.cumsum(counts[rows])]), np.concatenate([items[row] for row in rows]), m
    )
    targets = np.concatenate([values[row, : counts[row]] for row in rows])
    weights = np.ones(m)
    return [
        ItemVector("v", 1.0, pattern, weights, features[rows], targets),
        ItemMatrix("m", 1.0, pattern, weights, features[rows]),
        ItemWeight("w", 1.0, pattern, weights, values[rows, 0].astype(np.int32) * 30_000),
        UserMatrix("u", 1.0, features[rows]),
        UserVector("s", 1.0, values[rows].astype(np.int32) * 60_000),
    ]


def test_sums_do_not_depend_on_threads_or_the_order_of_users() -> None:
    rng = np.random.default_rng(9)
    given, shuffled, turned = (
        _crowd(slice(None)),
        _crowd(rng.permutation(80_000)),
        _crowd(slice(None, None, -1)),
    )
    with kernels.threads(1):
        wanted = [block.total() for block in given]
    for threads in (1, 2, 3):
        with kernels.threads(threads):
            for blocks in (given, shuffled, turned):
                for block, total in zip(blocks, wanted, strict=True):
                    assert np.array_equal(block.total(), total), f"{block.name} with {threads} threads"


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (0, {"features": np.zeros((1, 3), np.int16)}),
        (0, {"targets": np.zeros(1, np.int16)}),
        (0, {"item_weights": np.ones(1)}),
        (1, {"features": np.zeros((29, 3), np.int16)}),
        (2, {"weights": np.zeros(31, np.int32)}),
    ],
)
def test_arrays_that_do_not_fit_the_pattern_are_refused(kind: int, changes: dict[str, Any]) -> None:
    with pytest.raises(RatingsInvalid, match="the pattern needs"):
        replace(one_of_each()[kind], **changes)


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("kind", range(3))
def test_item_weights_must_be_positive(kind: int, wrong: float) -> None:
    with pytest.raises(SettingsInvalid, match="item weights"):
        replace(one_of_each()[kind], item_weights=np.array([1.0, 1.0, wrong, 1.0, 1.0, 1.0]))
