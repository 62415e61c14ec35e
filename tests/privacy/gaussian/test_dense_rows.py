"""Second moment of rows over all items: what one user can change, however users are dealt out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest

from discreet import kernels
from discreet.errors import RatingsInvalid
from discreet.privacy.gaussian import dense_rows
from discreet.privacy.gaussian import gate as gate_module
from discreet.privacy.gaussian.clipped import CoMoments
from discreet.privacy.gaussian.dense_rows import DenseMoments, DenseRows
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.mechanism import release
from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.pattern import Pattern
from discreet.privacy.ledger import Ledger
from tests.privacy.worlds import BUDGET, MU, Floats, Scales, distance, exact_release

M, RANK = 15, 3


@dataclass(frozen=True)
class User:
    """What one user brings."""

    items: npt.NDArray[np.int32]
    values: Floats
    weights: Floats


def block(users: list[User], directions: Floats) -> DenseRows:
    indptr = np.concatenate([[0], np.cumsum([len(user.items) for user in users])]).astype(np.int64)
    items = np.concatenate([np.zeros(0, np.int32), *(user.items for user in users)])
    return DenseRows(
        "rows",
        Pattern(indptr, items, M),
        np.concatenate([np.zeros(0), *(user.values for user in users)]),
        np.array([user.weights for user in users]).reshape(len(users), directions.shape[1]),
        directions,
    )


def directions(rng: np.random.Generator) -> Floats:
    return np.linalg.qr(rng.standard_normal((M, RANK)))[0]


def hostile_users(rng: np.random.Generator) -> list[User]:
    """Nothing, one item, all items; rows below, at and far above the bound; what is no number, in either part."""
    every = np.arange(M, dtype=np.int32)
    zero, unit = np.zeros(RANK), np.eye(RANK)[0]
    users = [
        User(every[:0], np.zeros(0), zero),
        User(every[:0], np.zeros(0), unit),
        User(every[:0], np.zeros(0), -40.0 * unit),
        User(every[4:5], np.array([1.0]), zero),
        User(every[4:5], np.array([-1e140]), unit),
        User(every, np.ones(M), unit),
        User(every, np.full(M, M**-0.5), zero),
        User(every, np.full(M, -1e300), unit),
        User(every, np.where(every == 2, np.nan, 1.0), unit),
        User(every, np.where(every == 2, np.inf, 1.0), unit),
        User(every[3:5], np.ones(2), np.full(RANK, np.nan)),
        User(every[3:5], np.ones(2), np.array([np.inf, -np.inf, 1.0])),
        User(every[3:5], np.ones(2), np.full(RANK, 1e308)),
        User(every[3:5], np.full(2, 1e-300), np.full(RANK, 1e-300)),
    ]
    for _ in range(8):
        items = np.sort(rng.choice(M, int(rng.integers(1, M)), replace=False)).astype(np.int32)
        scale = 10.0 ** rng.uniform(-2, 1)
        users.append(User(items, scale * rng.standard_normal(len(items)), scale * rng.standard_normal(RANK)))
    return users


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e6])
def test_no_user_moves_the_sum_by_more_than_the_bound_or_anybody_else(scale: float) -> None:
    rng = np.random.default_rng(0)
    users, shown = hostile_users(rng), scale * directions(rng)
    full, sigmas = exact_release([block(users, shown)])
    moved = []
    for user in range(len(users)):
        less, _ = exact_release([block(users[:user] + users[user + 1 :], shown)])
        alone, _ = exact_release([block([users[user]], shown)])
        assert np.array_equal(full[0] - less[0], alone[0])
        moved.append(distance(full, less, sigmas))
    assert max(moved) <= 1.0 + 1e-9
    assert sum(change >= 0.99 for change in moved) >= 4


def crowd(n: int = 2_000) -> DenseRows:
    rng = np.random.default_rng(1)
    shown = directions(rng)
    users = []
    for _ in range(n):
        items = np.sort(rng.choice(M, int(rng.integers(0, M + 1)), replace=False)).astype(np.int32)
        users.append(User(items, 0.1 * rng.standard_normal(len(items)), 0.5 * rng.standard_normal(RANK)))
    return block(users, shown)


def by_hand(rows: DenseRows) -> npt.NDArray[np.int64]:
    """All rows at once, clipped and truncated as the definition has it."""
    dense = rows.weights @ rows.directions.T
    users = np.repeat(np.arange(len(dense)), np.diff(rows.pattern.indptr))
    dense[users, rows.pattern.items] += rows.values
    dense /= np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1.0)
    return np.trunc(dense * 2**14).astype(np.int64)


def test_rows_are_those_of_the_definition() -> None:
    """Up to one grid step, where the margin or the last bit decides; sums are exact for the rows as they are."""
    rows = crowd()
    made = rows.rows(0, 2_000)
    assert made.dtype == np.int16
    assert np.abs(made - by_hand(rows)).max() <= 1
    assert (made == by_hand(rows)).mean() > 0.999
    whole = made.astype(np.int64)
    assert np.array_equal(rows.total(), (whole.T @ whole).astype(np.float64))
    squares = (whole**2).sum(axis=1)
    assert np.array_equal(rows.energies(), (squares / 2.0**28) ** 2)
    assert squares.max() <= 2**28


@pytest.mark.parametrize("entries", [1, 7 * M, 64 * M, 10**6])
def test_nothing_depends_on_blocks_threads_or_the_order_of_users(
    entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = crowd(300)
    total, energies = rows.total(), rows.energies()
    monkeypatch.setattr(dense_rows, "_ENTRIES", entries)
    for threads in (1, 2):
        with kernels.threads(threads):
            assert np.array_equal(rows.total(), total)
            assert np.array_equal(rows.energies(), energies)
    order = np.random.default_rng(2).permutation(300)
    parts = [np.arange(*rows.pattern.indptr[user : user + 2]) for user in order]
    moved = DenseRows(
        "rows",
        Pattern(
            np.concatenate([[0], np.cumsum([len(part) for part in parts])]),
            rows.pattern.items[np.concatenate(parts)],
            M,
        ),
        rows.values[np.concatenate(parts)],
        rows.weights[order],
        rows.directions,
    )
    assert np.array_equal(moved.total(), total)
    assert np.array_equal(moved.energies(), energies[order])
    assert np.array_equal(moved.rows(17, 40), rows.rows(0, 300)[order[17:40]])


def test_without_a_dense_part_it_is_the_sparse_release() -> None:
    rows = crowd(200)
    bare = np.zeros((200, 0)), np.zeros((M, 0))
    released = []
    for mechanism, weights in ((DenseMoments(bare[1]), (bare[0],)), (CoMoments(M), ())):
        gate = Gate(Ledger(BUDGET), Noise.fixed_key_not_private("same"))
        private = (rows.pattern, rows.values * 10.0, *weights)
        released.append(release(gate, "r", mechanism, *private, mu=0.1).matrix)
    np.testing.assert_allclose(*released, atol=200 * 2.0**-13)


def test_the_release_is_right_but_for_noise_and_grid() -> None:
    rows = crowd()
    gate = Gate(Ledger(BUDGET))
    mechanism = DenseMoments(rows.directions)
    moment = release(gate, "r", mechanism, rows.pattern, rows.values, rows.weights, mu=0.1).matrix
    wanted = by_hand(rows) / 2.0**14
    assert 0.5 / 0.1 < (moment - wanted.T @ wanted).std() < 1.0 / 0.1
    assert np.array_equal(moment, moment.T)
    assert [charge.mu for charge in gate.ledger.charges] == [0.1]


def test_the_gate_silences_who_is_too_loud_and_nobody_else() -> None:
    """A clip that fails must not get past the gate, which measures the very integers."""
    rows = crowd(50)
    loud = replace(rows, weights=np.where(np.arange(50)[:, None] == 9, 2.0, 0.1 * rows.weights))
    with (
        mock.patch.object(dense_rows, "clip_rows", lambda dense: np.clip(dense, -1.99, 1.99)),
        mock.patch.object(gate_module, "_RESOLUTION", 2.0**200),
    ):
        assert (loud.energies() > 1.0).nonzero()[0].tolist() == [9]
        released = Gate(Ledger(BUDGET), Scales()).release("r", [loud], mu=MU)["rows"]
        rest = loud.without(np.arange(50) == 9)
        assert np.array_equal(released, rest.total())
    assert not rest.energies()[9]
    both = rest.without(np.arange(50) == 4)
    assert (both.energies() == 0.0).nonzero()[0].tolist() == [4, 9]


def test_noise_and_bounds_are_those_of_a_symmetric_matrix() -> None:
    rows = crowd(10)
    noise = np.stack([rows.noise(Noise(), 0.01) for _ in range(200)])
    assert np.array_equal(noise, noise.transpose(0, 2, 1))
    off = noise[:, ~np.eye(M, dtype=bool)]
    assert off.std() == pytest.approx(rows.sigmas(0.01).min(), rel=0.05)
    assert noise[:, np.arange(M), np.arange(M)].std() == pytest.approx(rows.unit / 0.01, rel=0.1)


def test_nobody_sums_to_zero() -> None:
    empty = DenseRows("rows", Pattern(np.zeros(1, np.int64), np.zeros(0, np.int32), M), np.zeros(0), *bare(0))
    assert not empty.total().any()
    assert empty.energies().shape == (0,)


def bare(n: int) -> tuple[Floats, Floats]:
    return np.zeros((n, 2)), np.zeros((M, 2))


@pytest.mark.parametrize("wrong", ["values", "weights", "directions"])
def test_arrays_that_do_not_fit_are_refused(wrong: str) -> None:
    rows = crowd(10)
    with pytest.raises(RatingsInvalid, match="needed"):
        replace(rows, **{wrong: getattr(rows, wrong)[:-1]})
