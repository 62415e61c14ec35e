"""Second moment of rows over all items: what one user can change, however users are dealt out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pytest

from discreet.errors import RatingsInvalid
from discreet.privacy.gaussian.blocks import Pattern
from discreet.privacy.gaussian.clipped import DenseRows
from tests.privacy.worlds import Floats

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


def test_nobodys_row_depends_on_who_else_is_there() -> None:
    """To the last bit, where large parts cancel and a last bit is many grid steps; so no product by BLAS."""
    rng = np.random.default_rng(0)
    half = rng.standard_normal((M, 2))
    shown, large = np.hstack([half, half]), 1e13 * rng.standard_normal((40, 2))
    weights = np.hstack([large, -large]) + rng.standard_normal((40, 4))
    users = [User(np.zeros(0, np.int32), np.zeros(0), own) for own in weights]
    whole = block(users, shown).rows(0, len(users))
    assert np.abs(whole).max() > 1_000
    for number, user in enumerate(users):
        assert np.array_equal(whole[number], block([user], shown).rows(0, 1)[0])


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
