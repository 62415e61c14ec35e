"""Clicks: gravity comes from the items in use, popularity is in the offsets, rank and penalty are judged."""

import numpy as np
import pytest

from discreet import ALS, Catalogue, Ratings
from discreet.data import splits
from discreet.evaluation import evaluate_ranking
from discreet.methods.als.clicks import ClicksFit
from discreet.types import Floats


def test_items_that_nobody_uses_change_nothing(clicks: Ratings) -> None:
    train, query, target = splits.held_out_users(clicks, 0.2, rng=0)
    assert clicks.catalogue is not None
    known = np.asarray(clicks.catalogue.ids).tolist()
    wide = Catalogue([*known, *(f"unused-{number}" for number in range(10_000))])
    plain = evaluate_ranking(ALS(rank=16).fit(train, rng=0).model_, query, target)
    more = ALS(rank=16).fit(train.with_catalogue(wide), rng=0).model_
    scores = evaluate_ranking(more, query.with_catalogue(wide), target.with_catalogue(wide))
    assert scores.recall == pytest.approx(plain.recall, rel=0.01)
    assert not more.item_side.factors[len(known) :].any()


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("rank", [3, 16])
def test_a_round_is_two_dense_least_squares_solves(clicks: Ratings, rank: int, exponent: float) -> None:
    """The users given the items, the items with their offsets given the users; what nobody takes stays at zero."""
    catalogue = clicks.catalogue
    assert catalogue is not None
    wide = clicks.with_catalogue(Catalogue([*np.asarray(catalogue.ids).tolist(), "unused"]))
    gravity, penalty = 0.05, 0.8
    fit = ClicksFit(wide, rank, gravity, exponent, np.random.default_rng(0))
    for _ in range(2):
        before = fit.item_side(penalty)
        fit.round(penalty)
    after = fit.item_side(penalty)
    taken = np.zeros((wide.n_users, wide.n_items))
    taken[np.repeat(np.arange(wide.n_users), np.diff(wide.indptr)), wide.items] = 1.0
    users = _dense(taken, before.offsets, before.factors, gravity, penalty, exponent)
    items = _dense_with_offsets(taken.T, users, gravity, penalty, exponent)
    expected = items[:, :1] + items[:, 1:] @ users.T
    found = after.offsets[:, None] + after.factors @ users.T
    np.testing.assert_allclose(found, expected, atol=2e-5 * np.abs(expected).max())
    assert after.offsets[-1] == 0.0
    assert not after.factors[-1].any()


def _dense(
    taken: Floats, offsets: Floats, factors: Floats, gravity: float, penalty: float, exponent: float
) -> Floats:
    """Vectors of the users: what they took counts as 1, everything as a weak 0, offsets are given."""
    out = []
    for row in taken:
        weight = row + gravity
        ridge = penalty * max(row.sum(), 1.0) ** exponent * np.eye(factors.shape[1])
        vector = factors.T @ (row - weight * offsets)
        out.append(np.linalg.solve((factors.T * weight) @ factors + ridge, vector))
    return np.array(out)


def _dense_with_offsets(
    taken: Floats, users: Floats, gravity: float, penalty: float, exponent: float
) -> Floats:
    """Offset, free of penalty, and factors of the items."""
    features = np.column_stack([np.ones(len(users)), users])
    free = np.diag([0.0] + [penalty] * users.shape[1])
    return np.array(
        [
            np.linalg.solve(
                (features.T * (row + gravity)) @ features + free * max(row.sum(), 1.0) ** exponent,
                features.T @ row,
            )
            for row in taken
        ]
    )
