"""Mean percentile rank (equation 3 of the prototypes paper)."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.silos.worlds import evaluate_percentile_rank, percentile_ranks
from tests.evaluation.test_evaluate import random_ratings
from tests.model.models import make_model


def test_first_is_zero_last_is_one_and_ties_share() -> None:
    scores = np.array([[3.0, 2.0, 1.0], [1.0, 1.0, 1.0], [0.0, 5.0, 5.0]])
    ranks = percentile_ranks(lambda user: scores[user], np.array([0, 3, 4, 6]), np.array([0, 1, 2, 1, 0, 1]))
    assert ranks.tolist() == [0.0, 0.5, 1.0, 0.5, 1.0, 0.25]


@pytest.mark.parametrize("feedback", ["explicit", "implicit"])
def test_a_models_mean_is_weighted_with_the_rating(feedback: str) -> None:
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
