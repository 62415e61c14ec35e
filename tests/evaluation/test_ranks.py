"""Mean percentile rank (equation 3 of the prototypes paper)."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from discreet.evaluation import evaluate_percentile_rank
from discreet.evaluation.ranks import percentile_ranks
from discreet.model.blocks import fold_in_blocks
from tests.evaluation.test_protocols import random_ratings
from tests.model.models import make_model


def test_first_is_zero_last_is_one_and_ties_share() -> None:
    scores = np.array([[3.0, 2.0, 1.0], [1.0, 1.0, 1.0], [0.0, 5.0, 5.0]])
    ranks = percentile_ranks(
        lambda part: scores[part], np.array([0, 3, 4, 6]), np.array([0, 1, 2, 1, 0, 1]), 3
    )
    assert ranks.tolist() == [0.0, 0.5, 1.0, 0.5, 1.0, 0.25]


def test_random_orders_are_in_the_middle() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random((2000, 50))
    indptr, items = np.arange(2001) * 3, rng.integers(0, 50, 6000)
    ranks = percentile_ranks(lambda part: scores[part], indptr, items, 50)
    assert ranks.mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("feedback", ["explicit", "implicit"])
def test_a_models_mean_is_weighted_with_the_rating(feedback: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = make_model(feedback)
    users = [f"u{i}" for i in range(6)]
    history, test = random_ratings(model, users, 1), random_ratings(model, users[::-1], 2)
    placed = weight = 0.0
    for number, user in enumerate(users[::-1]):
        row = users.index(user)
        seen = slice(*history.indptr[row : row + 2])
        ids = model.catalogue.ids[history.items[seen]].tolist()
        own = dict(zip(ids, history.values[seen].tolist(), strict=True)) if feedback == "explicit" else ids
        order = model.recommend(own, n=12, exclude_seen=False)
        places = {one.item: place / 11 for place, one in enumerate(order)}
        for entry in range(*test.indptr[number : number + 2]):
            placed += test.values[entry] * places[model.catalogue.ids.tolist()[test.items[entry]]]
            weight += test.values[entry]
    assert evaluate_percentile_rank(model, history, test) == pytest.approx(placed / weight)
    monkeypatch.setattr("discreet.evaluation.protocols.fold_in_blocks", partial(fold_in_blocks, size=2))
    assert evaluate_percentile_rank(model, history, test) == pytest.approx(placed / weight)
