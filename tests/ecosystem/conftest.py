"""A market, three models of it, and what was held back."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from discreet import ALS, EASE, Model, Ratings


class World(NamedTuple):
    """A model (and where it is saved), the histories it is asked with, and the test."""

    model: Model
    folder: Path
    history: Ratings
    test: Ratings


@pytest.fixture(scope="session", params=["ease", "rank", "rate"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    rng = np.random.default_rng(0)
    likes = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 60))
    chosen = likes + rng.normal(0.0, 2.0, likes.shape) > 1.5
    users, items = np.nonzero(chosen)
    rows = {"user": [f"u{user:03}" for user in users], "item": [f"i{item:02}" for item in items]}
    stars = np.clip(np.round(3.0 + likes[chosen] + rng.normal(0.0, 0.5, len(users))), 1.0, 5.0)
    ratings = Ratings.from_frame(
        {**rows, "rating": stars},
        user="user",
        item="item",
        rating="rating",
        rating_range=(1, 5),
        catalogue=[f"i{item:02}" for item in range(60)],
    )
    held_back = rng.random(ratings.n_ratings) < 0.2
    # Each user keeps a rating, and every item is in the history, so that all libraries see the same users and items.
    held_back[ratings.indptr[:-1]] = False
    history, test = ratings.keep(~held_back), ratings.keep(held_back)
    assert len(np.unique(history.items)) == ratings.n_items
    way = EASE() if request.param == "ease" else ALS(rank=4, rounds=3, goal=request.param)
    model = way.fit(history, rng=0).model_
    folder = tmp_path_factory.mktemp("eco") / "model"
    model.save(folder)
    return World(model, folder, history, test.take_users(np.diff(test.indptr) > 0))
