"""Second moment of rows over all items: what one user can change, however users are dealt out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest

from discreet.errors import RatingsInvalid
from discreet.privacy.gaussian.blocks import Pattern
from discreet.privacy.gaussian.clipped import DenseRows
from tests.privacy.worlds import Floats, distance, exact_release

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


@pytest.mark.parametrize("wrong", ["values", "weights", "directions"])
def test_arrays_that_do_not_fit_are_refused(wrong: str) -> None:
    rows = crowd(10)
    with pytest.raises(RatingsInvalid, match="needed"):
        replace(rows, **{wrong: getattr(rows, wrong)[:-1]})
