"""Values of prototypes: noise is not passed on as taste, and what stands out from noise is."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.methods.prototypes.private.rows import shrunken_means
from discreet.methods.prototypes.private.silo import PrivatePrototypes
from discreet.methods.prototypes.public.server import factorise
from discreet.methods.prototypes.settings import FactorSettings
from discreet.privacy.pure.noise import PureNoise
from tests.methods.prototypes.worlds import ITEMS, ratings, silo


def test_noise_alone_leaves_flat_rows() -> None:
    """Laplace noise far above every difference: flat rows, but for the few draws that chance lets through."""
    rng = np.random.default_rng(0)
    counts = np.array([[400.0], [100.0], [20.0]])
    flat = 0
    for _ in range(200):
        sums = 2.0 * counts + rng.laplace(0.0, 300.0, (3, 80))
        flat += bool((np.ptp(shrunken_means(sums, counts, 2 * 300.0**2), axis=1) == 0.0).all())
    assert flat >= 180


@pytest.mark.parametrize("clustering", ["swap", "lloyd"])
def test_at_a_tiny_epsilon_predictions_fall_back_to_the_users_mean(clustering: str) -> None:
    """Raw values send users after noise; shrunken ones leave them at their own mean."""
    rows = [row for row in silo(2000, 1) if len(row) > 6]
    world = ratings(rows)
    factors = FactorSettings(rank=4, rounds=30, penalty=0.05, user_penalty=0.05)
    off = {}
    for shrink in (True, False):
        method = PrivatePrototypes(
            clustering=clustering, prototypes=8, users=1000, minimum_users=1, support="all", max_ratings=ITEMS,
            dimension=2, shrink=shrink, unrated="zero",
        )  # fmt: skip
        noise = PureNoise.fixed_key_not_private("shrinkage")
        message = method.message(world, 0.05, noise=noise)
        assert any("every prototype is flat" in note for note in message.notes) is shrink
        side = factorise([message], factors, 0)
        own = side.fold_in(world.indptr, world.items, world.values)
        users = np.repeat(np.arange(world.n_users), np.diff(world.indptr))
        means = np.repeat([np.mean(list(row.values())) for row in rows], np.diff(world.indptr))
        off[shrink] = float(np.abs(side.predict(own, users, world.items) - means).max())
    assert off[True] < 0.05
    assert off[False] > 0.5
