"""Gradient descent on devices: exactly k rounds, estimates right on average, statements that say what is promised."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from discreet.data.ratings import Ratings
from discreet.privacy.local.rotated import Coin
from reproduction.local.channel import Channel, Exact, Hua, Naive, OneCoordinate, Projected, Projection, Round
from reproduction.local.crowd import Crowd
from reproduction.local.descent import Descent, descend


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    """Some ratings of some items by 600 users, none of the last item."""
    rng = np.random.default_rng(0)
    values = rng.integers(1, 6, (600, 12)) * (rng.random((600, 12)) < 0.25)
    values[:, -1] = 0
    return of_matrix(sparse.csr_array(values.astype(float)))


def of_matrix(matrix: sparse.csr_array) -> Ratings:
    arrays = (matrix.indptr, matrix.indices, matrix.data)
    return Ratings.from_arrays(*arrays, catalogue=range(12), rating_range=(1, 5))


class Watched:
    """A channel that counts its rounds and who was there."""

    name = "watched"
    protects = "user"

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.epsilons: list[float] = []

    def gradient(self, asked: Round) -> np.ndarray:
        self.sizes.append(asked.crowd.size)
        self.epsilons.append(asked.epsilon)
        return np.zeros_like(asked.items)


@pytest.mark.parametrize(("rounds", "batches"), [(1, 1), (10, 1), (10, 10), (7, 3), (3, 5)])
def test_exactly_k_rounds_and_no_device_spends_more_than_epsilon(
    ratings: Ratings, rounds: int, batches: int
) -> None:
    watched = Watched()
    found = descend(ratings, watched, 0.8, Descent(2, rounds, batches=batches))  # type: ignore[arg-type]
    assert len(watched.sizes) == rounds
    answers = -(-rounds // batches)
    assert watched.epsilons == [0.8 / answers] * rounds
    assert found.statement.epsilon == pytest.approx(0.8)
    assert len(found.statement.releases) == answers
    assert sum(watched.sizes[:batches]) == (ratings.n_users if rounds >= batches else sum(watched.sizes))
    assert found.statement.relation == "replace all of one user's ratings"
    assert found.statement.model == "local"


def asked(ratings: Ratings, epsilon: float, seed: int = 0) -> Round:
    rng = np.random.default_rng(seed)
    crowd = Crowd.of(ratings)
    # Small enough that no gradient is clipped.
    profiles, items = rng.uniform(-0.08, 0.08, (crowd.size, 2)), rng.normal(size=(crowd.n_items, 2))
    return Round(crowd, profiles, items, epsilon, rng, Coin())


@pytest.mark.parametrize(
    ("channel", "epsilon"), [(OneCoordinate(), 2.0), (Hua(), 4.0), (Naive(), 400.0)], ids=lambda c: str(c)[:8]
)
def test_estimates_are_right_on_average(ratings: Ratings, channel: Channel, epsilon: float) -> None:
    one = asked(ratings, epsilon)
    exact = Exact().gradient(one)
    runs = np.stack([channel.gradient(one) for _ in range(600)])
    spread, off = runs.std(axis=0), runs.mean(axis=0) - exact
    assert not off[spread == 0.0].any()  # nobody rated it, and the scheme shows that
    error = off[spread > 0.0] / spread[spread > 0.0] * np.sqrt(len(runs))
    assert len(error) >= 22
    assert np.abs(error).max() < 6.0


def test_projected_estimates_are_right_in_the_reduced_space(ratings: Ratings) -> None:
    one, channel = asked(ratings, 2.0), Projected(Projection(4, 12, np.random.default_rng(1)))
    exact = channel.projection.matrix @ Exact().gradient(one)
    runs = np.stack([channel.reduced(one) for _ in range(600)])
    error = (runs.mean(axis=0) - exact) / (runs.std(axis=0) / np.sqrt(len(runs)))
    assert np.abs(error).max() < 6.0


def test_statements_say_what_each_scheme_promises(ratings: Ratings) -> None:
    settings = Descent(2, 3)
    private = descend(ratings, OneCoordinate(), 1.0, settings)
    assert private.statement.private
    hua = descend(ratings, Hua(), 1.0, settings).statement
    assert not hua.private
    assert "items a user rated is sent in the clear" in str(hua).replace("\n", " ").replace("  ", " ")
    assert not descend(ratings, Exact(), None, settings).statement.private
    on_paper = descend(ratings, Naive(), 1.0, settings).statement
    assert (on_paper.private, on_paper.epsilon, on_paper.fixed_noise_key) == (False, None, False)
    assert "floating point" in str(on_paper)
    fixed = [
        descend(ratings, OneCoordinate(), 1.0, settings, coin=Coin.fixed_key_not_private(1)) for _ in range(2)
    ]
    assert not fixed[0].statement.private
    np.testing.assert_array_equal(fixed[0].items, fixed[1].items)
    assert np.abs(private.items - descend(ratings, OneCoordinate(), 1.0, settings).items).max() > 0


@pytest.mark.parametrize("channel", [Hua, Exact, Naive])
def test_nobody_can_make_a_weak_scheme_claim_to_protect_users(channel: type[Channel]) -> None:
    with pytest.raises(TypeError):
        channel(protects="user")  # type: ignore[call-arg]


def test_one_user_moves_nobody_else(ratings: Ratings) -> None:
    """A device's step depends on its own row alone, to the last bit."""
    crowd, rng = Crowd.of(ratings), np.random.default_rng(0)
    profiles, items = rng.normal(size=(crowd.size, 2)), rng.normal(size=(12, 2))
    without = np.arange(1, crowd.size)
    part = crowd.part(without).step(profiles[without], items, 0.01)
    np.testing.assert_array_equal(crowd.step(profiles, items, 0.01)[without], part)
