"""The score of a model on held-back ratings: what one user moves in it, and that it is what it is called."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from discreet import Budget, BudgetedALS, Ratings
from discreet.methods.published.private.baselines import UserMean
from discreet.methods.tuning import release_score, split_validation, user_losses
from discreet.model.item_side import ItemSide
from discreet.privacy import Gate, Ledger
from discreet.privacy.gaussian.blocks import LOSS, Block
from tests.methods.neighbours import move

BUDGET = Budget(5.0, 1e-6)


def without(ratings: Ratings, user: int) -> Ratings:
    return ratings.take_users(np.arange(ratings.n_users) != user)


class Caught(Exception):
    """Instead of a release: the blocks that were handed in."""


class Catching(Gate):
    def release(
        self, name: str, blocks: Sequence[Block], *, mu: float, delta: float = 0.0
    ) -> dict[str, np.ndarray]:
        raise Caught(blocks)


def score_blocks(side: ItemSide, ratings: Ratings) -> list[Block]:
    with pytest.raises(Caught) as caught:
        release_score(Catching(Ledger(BUDGET)), "score", side, *split_validation(ratings, 0.1, 7), mu=0.01)
    blocks: list[Block] = caught.value.args[0]
    return blocks


def hostile(ratings: Ratings) -> Ratings:
    """Forty users, four of them: everything at one end, everything at either end, one rating, none."""
    some = ratings.take_users(slice(0, 40))
    n_items, low, high = some.n_items, 1.0, 5.0
    ends = np.where(np.arange(n_items) % 2 == 0, low, high)
    rows = [
        (np.arange(n_items), np.full(n_items, high)),
        (np.arange(n_items), ends),
        (np.array([5]), np.array([low])),
        (np.zeros(0, np.int64), np.zeros(0)),
    ]
    counts = [len(items) for items, _ in rows]
    return Ratings.from_arrays(
        np.concatenate([some.indptr, some.indptr[-1] + np.cumsum(counts)]),
        np.concatenate([some.items, *(items for items, _ in rows)]),
        np.concatenate([some.values, *(values for _, values in rows)]),
        catalogue=some.catalogue,
        rating_range=some.rating_range,
    )


def test_one_user_moves_a_score_by_at_most_one_unit_and_nobody_elses_loss(market: Ratings) -> None:
    largest, ratings = [], hostile(market)
    factors = BudgetedALS(rank=3, rounds=2).fit(market, BUDGET, rng=0)
    for side in (factors.model_.item_side, UserMean().fit(market).model_.item_side):
        full = score_blocks(side, ratings)
        losses = user_losses(side, *split_validation(ratings, 0.1, 7))
        moves = []
        for user in range(ratings.n_users):
            rest = without(ratings, user)
            np.testing.assert_array_equal(
                user_losses(side, *split_validation(rest, 0.1, 7)), np.delete(losses, user)
            )
            moves.append(move(full, score_blocks(side, rest)))
        assert max(moves) <= 1.0 + 1e-9
        assert moves[-2:] == [0.0, 0.0]  # with one rating or none there is nothing to validate on
        largest.append(max(moves))
    assert max(largest) > 0.99


def test_wild_predictions_are_no_larger_a_loss(market: Ratings) -> None:
    training, validation = split_validation(market.take_users(slice(0, 50)), 0.1, 1)
    plain = UserMean().fit(market).model_.item_side
    for value in (np.nan, np.inf, -np.inf, 1e300):
        side = replace(plain, centre=value)
        with np.errstate(all="ignore"):
            losses = user_losses(side, training, validation)
        assert ((losses >= 0.0) & (losses <= 1.0)).all()


def test_losses_are_what_they_are_called(market: Ratings) -> None:
    training, validation = split_validation(market, 0.1, 3)
    side = UserMean().fit(market).model_.item_side
    losses = user_losses(side, training, validation)
    for user in (0, 11, 500):
        mine, held = (part.take_users([user]).values for part in (training, validation))
        assert losses[user] == pytest.approx(np.minimum(((mine.mean() - held) / 2.0) ** 2, 1.0).mean())


def test_the_score_is_near_the_mean_loss(market: Ratings) -> None:
    parts = split_validation(market, 0.1, 3)
    side = UserMean().fit(market).model_.item_side
    exact = 2.0 * math.sqrt(user_losses(side, *parts).mean())
    gate = Gate(Ledger(BUDGET))
    score = release_score(gate, "score", side, *parts, mu=gate.ledger.remaining_mu)
    assert score.value == pytest.approx(exact, abs=0.01)
    assert score.total == pytest.approx(float((user_losses(side, *parts) - 0.5).sum()), abs=5.0)
    gate = Gate(Ledger(Budget(0.001, 1e-6)))
    drowned = release_score(gate, "score", side, *parts, mu=gate.ledger.remaining_mu)
    assert 0.0 <= drowned.value <= 2.0


class Replaying(Gate):
    """Gives the same release to whoever asks."""

    def release(
        self, name: str, blocks: Sequence[Block], *, mu: float, delta: float = 0.0
    ) -> dict[str, np.ndarray]:
        super().release(name, blocks, mu=mu, delta=delta)
        return {block.name: np.array([-1000.0, 500.0]) * LOSS for block in blocks}


def test_a_score_follows_from_its_release_alone(market: Ratings) -> None:
    """Trials are compared by ``total``: were it exact, the choice among them would not be paid for."""
    side = UserMean().fit(market).model_.item_side
    scores = [
        release_score(
            Replaying(Ledger(BUDGET)),
            "score",
            side,
            *split_validation(market.take_users(users), 0.1, 3),
            mu=0.5,
        )
        for users in (slice(0, 50), slice(50, 300))
    ]
    assert scores[0] == scores[1]
    assert scores[0].total == -1000.0


def test_the_split(market: Ratings) -> None:
    ratings = hostile(market)
    training, validation = split_validation(ratings, 0.1, 5)
    for user in range(ratings.n_users):
        parts = [set(part.take_users([user]).items.tolist()) for part in (training, validation)]
        whole = set(ratings.take_users([user]).items.tolist())
        assert parts[0] | parts[1] == whole
        assert not parts[0] & parts[1]
        assert len(parts[1]) == (0 if len(whole) < 2 else max(1, len(whole) // 10))
    other = split_validation(ratings, 0.1, 6)[1]
    assert not np.array_equal(other.items, validation.items)
    shuffled = np.random.default_rng(0).permutation(ratings.n_users)
    again = split_validation(ratings.take_users(shuffled), 0.1, 5)[1]
    np.testing.assert_array_equal(again.items, validation.take_users(shuffled).items)
