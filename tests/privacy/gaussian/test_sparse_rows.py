"""Releases of users' sparse rows: what one user can change, measured, for users made to break it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest

from discreet import kernels
from discreet.errors import RatingsInvalid, SettingsInvalid
from discreet.privacy.gaussian import gate as gate_module
from discreet.privacy.gaussian.clipped import CoMoments, Products
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.item_blocks import CoMoment
from discreet.privacy.gaussian.mechanism import release
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.pattern import Pattern
from discreet.privacy.ledger import Ledger
from tests.privacy.worlds import BUDGET, MU, Floats, Scales, distance, exact_release

M = 12
Rows = list[tuple[npt.NDArray[np.int32], Floats]]


def hostile_rows() -> Rows:
    """One user each: as (items, values). The bound is 1 for the norm of the values."""
    rng = np.random.default_rng(0)
    every = np.arange(M, dtype=np.int32)
    one = every[3:4]
    rows: Rows = [
        (one, np.array([1.0])),
        (one, np.array([-1.0])),
        (one, np.array([1e149])),
        (one, np.array([1e300])),
        (one, np.array([np.nan])),
        (one, np.array([-np.inf])),
        (one, np.array([1e-300])),
        (every[:0], np.zeros(0)),
        (every, np.zeros(M)),
        (every, np.ones(M)),
        (every, np.full(M, M**-0.5)),
        (every, np.full(M, M**-0.5) * (1.0 + 1e-15)),
        (every, np.full(M, -1e149)),
        (every, np.where(every == 3, 1e100, 1.0)),
        (every, np.where(every == 5, np.nan, 0.7)),
        (every, np.where(every == 5, np.inf, -0.7)),
        (every, np.resize([1.0, -1.0], M)),
    ]
    for _ in range(6):
        items = np.sort(rng.choice(M, int(rng.integers(1, M + 1)), replace=False)).astype(np.int32)
        rows.append((items, rng.standard_normal(len(items)) * 10.0 ** rng.uniform(-2, 2)))
    return rows


def pattern_of(rows: Rows) -> tuple[Pattern, Floats]:
    indptr = np.concatenate([[0], np.cumsum([len(items) for items, _ in rows])]).astype(np.int64)
    items = np.concatenate([np.zeros(0, np.int32), *(items for items, _ in rows)])
    return Pattern(indptr, items, M), np.concatenate([np.zeros(0), *(values for _, values in rows)])


def neighbours(mechanism: CoMoments | Products, rows: Rows) -> Iterator[float]:
    full, sigmas = exact_release(mechanism.blocks(*pattern_of(rows)))
    for user in range(len(rows)):
        less, _ = exact_release(mechanism.blocks(*pattern_of(rows[:user] + rows[user + 1 :])))
        own, _ = exact_release(mechanism.blocks(*pattern_of([rows[user]])))
        for whole, rest, alone in zip(full, less, own, strict=True):
            assert np.array_equal(whole - rest, alone), f"user {user} moves somebody else"
        yield distance(full, less, sigmas)


def test_no_user_moves_a_co_moment_by_more_than_the_bound() -> None:
    moved = list(neighbours(CoMoments(M), hostile_rows()))
    assert max(moved) <= 1.0 + 1e-9
    assert sum(change >= 0.99 for change in moved) >= 8
    assert moved[0] >= 0.9995


@pytest.mark.parametrize("kind", ["axis", "even", "random", "nothing"])
def test_no_user_moves_a_product_by_more_than_the_bound(kind: str) -> None:
    direction = {
        "axis": np.eye(M)[3],
        "even": np.full(M, M**-0.5),
        "random": np.random.default_rng(1).standard_normal(M),
        "nothing": np.zeros(M),
    }[kind]
    direction /= max(float(np.linalg.norm(direction)), 1e-9)
    aligned = [(np.arange(M, dtype=np.int32), scale * direction) for scale in (1.0, -1.0, 50.0)]
    moved = list(neighbours(Products(direction), hostile_rows() + aligned))
    assert max(moved) <= 1.0 + 1e-9
    assert min(moved[-3:]) >= 0.99 or kind == "nothing"


def test_a_direction_longer_than_one_cannot_be_asked_for() -> None:
    for direction in (np.eye(M)[0] * 1.001, np.full(M, np.nan), np.full(M, np.inf)):
        with pytest.raises(SettingsInvalid, match="direction"):
            Products(direction)


def test_releases_are_right_but_for_noise_and_grid() -> None:
    """Rows inside the bound come out unchanged; the noise has the scale that was paid for."""
    rng = np.random.default_rng(2)
    rows: Rows = [(np.arange(M, dtype=np.int32), row) for row in rng.standard_normal((3_000, M)) / 8.0]
    dense = np.array([row / max(1.0, np.linalg.norm(row)) for _, row in rows])
    direction = np.full(M, M**-0.5)
    gate = Gate(Ledger(BUDGET))
    pattern, values = pattern_of(rows)
    moment = release(gate, "m", CoMoments(M), pattern, values, mu=0.1).matrix
    product = release(gate, "p", Products(direction), pattern, values, mu=0.1).product
    assert np.abs(moment - dense.T @ dense).max() < 5.0 / 0.1
    assert np.abs(product - dense.T @ (dense @ direction)).max() < 5.0 / 0.1
    assert np.array_equal(moment, moment.T)
    assert 0.5 / 0.1 < (moment - dense.T @ dense).std() < 1.0 / 0.1
    assert 0.4 / 0.1 < (product - dense.T @ (dense @ direction)).std() < 1.8 / 0.1


def small_block() -> CoMoment:
    rng = np.random.default_rng(3)
    held = rng.random((20, M)) < 0.5
    held[4] = False
    pattern = Pattern(np.concatenate([[0], np.cumsum(held.sum(1))]), np.nonzero(held)[1].astype(np.int32), M)
    return CoMoment(
        "rows", 2.0**30, pattern, rng.integers(-9_000, 9_001, len(pattern.items)).astype(np.int16)
    )


def test_the_block_knows_its_energies_and_sums() -> None:
    block = small_block()
    rows = np.zeros((20, M))
    rows[np.repeat(np.arange(20), np.diff(block.pattern.indptr)), block.pattern.items] = block.values
    total = block.total()
    assert np.array_equal(total, rows.T @ rows)
    energies = block.energies()
    for user in range(20):
        others = np.arange(20) != user
        own = block.without(others).total()
        assert energies[user] == pytest.approx(float(((own / block.unit) ** 2).sum()), rel=1e-13, abs=0.0)
        assert not block.without(others).energies()[others].any()
        assert np.array_equal(block.without(~others).total(), total - own)


def test_the_gate_silences_who_is_too_loud_and_nobody_else() -> None:
    block = small_block()
    pairs = slice(*block.pattern.indptr[6:8])
    values = block.values.copy()
    values[pairs] = 32_767
    loud = replace(block, values=values)
    assert loud.energies()[6] > 1.0
    with mock.patch.object(gate_module, "_RESOLUTION", 2.0**200):
        released = Gate(Ledger(BUDGET), Scales()).release("r", [loud], mu=MU)["rows"]
    assert np.array_equal(released, block.without(np.arange(20) == 6).total())


def test_the_blocks_noise_is_symmetric_and_as_quiet_as_it_says() -> None:
    block = small_block()
    noise = np.stack([block.noise(Noise(), 0.01) for _ in range(200)])
    assert noise.shape == (200, M, M)
    assert np.array_equal(noise, noise.transpose(0, 2, 1))
    off = noise[:, ~np.eye(M, dtype=bool)]
    assert off.std() == pytest.approx(block.sigmas(0.01).min(), rel=0.05)
    assert noise[:, np.arange(M), np.arange(M)].std() == pytest.approx(block.unit / 0.01, rel=0.1)


def test_the_blocks_sum_is_the_same_with_any_threads() -> None:
    block = small_block()
    rows = [np.arange(*block.pattern.indptr[user : user + 2]) for user in range(20)] * 400
    entries = np.concatenate(rows)
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    many = CoMoment(
        "rows", block.unit, Pattern(indptr, block.pattern.items[entries], M), block.values[entries]
    )
    for threads in (1, 2, 3):
        with kernels.threads(threads):
            assert np.array_equal(many.total(), 400 * block.total())


def test_values_that_do_not_fit_the_pattern_are_refused() -> None:
    with pytest.raises(RatingsInvalid, match="the pattern needs"):
        replace(small_block(), values=np.zeros(3, np.int16))
