"""The DPALS paper's three tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.data.ratings import Ratings
from discreet.methods.published.private.dpals import DPALS
from reproduction.central.tasks import NO_NOISE, Task
from reproduction.context import Context
from reproduction.tuning import log_uniform
from tests.reproduction.worlds import shrink


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> Context:
    shrink(monkeypatch)
    return Context("quick")


def test_ratings_are_split_into_three_parts_of_their_own(context: Context) -> None:
    for task, parts in (
        (Task.of_ratings(context), (0.8, 0.1, 0.1)),
        (Task.of_top_items(context), (0.9, 0.05, 0.05)),
    ):
        pieces = (task.train, task.valid[1], task.test[1])
        found = set.union(*(pairs(piece) for piece in pieces))
        assert len(found) == sum(piece.n_ratings for piece in pieces) == task.data.ratings.n_ratings
        for piece, share in zip(pieces, parts, strict=True):
            assert piece.n_ratings == pytest.approx(share * len(found), rel=0.05)
        assert task.valid[0] is task.test[0] is task.train
        assert (task.delta, task.metric, task.explicit) == (1e-5, "RMSE", True)
        assert task.usual_count == pytest.approx(task.train.n_ratings / task.train.n_users, rel=0.01)


def test_clicks_are_tested_on_users_who_were_not_trained_on(context: Context) -> None:
    task = Task.of_clicks(context)
    groups = [set(part.user_ids.tolist()) for part in (task.train, task.valid[0], task.test[0])]
    assert len(set.union(*groups)) == sum(map(len, groups)) == task.data.ratings.n_users
    for history, hidden in (task.valid, task.test):
        assert history.user_ids.tolist() == hidden.user_ids.tolist()
        assert not pairs(history) & pairs(hidden)
    assert (task.delta, task.metric, task.explicit) == (0.2 / task.data.ratings.n_users, "Recall@20", False)


def test_every_method_is_tuned_by_the_same_trials_on_the_validation_part(context: Context) -> None:
    task = Task.of_ratings(context)
    space = {"penalty": log_uniform(3.0, 1e4)}
    tried: dict[str, list[float]] = {"tail": [], "weights": []}

    def maker(kind: str) -> Any:
        def make(penalty: float) -> DPALS:
            tried[kind].append(penalty)
            return DPALS(rank=2, penalty=penalty, sampling=kind)

        return make

    one, _ = (task.tune(maker(kind), space, 4, NO_NOISE, first=[{"penalty": 3.0}]) for kind in tried)
    assert tried["tail"] == tried["weights"]
    assert len(tried["tail"]) == 4
    assert tried["tail"][0] == 3.0
    made = DPALS(rank=2, **one.settings)
    valid, test = (task.score(made, NO_NOISE, part) for part in (task.valid, task.test))
    assert abs(one.value - valid) < abs(one.value - test)


def pairs(ratings: Ratings) -> set[tuple[int, int]]:
    users = np.repeat(ratings.user_ids, np.diff(ratings.indptr))
    return set(zip(users.tolist(), ratings.items.tolist(), strict=True))
