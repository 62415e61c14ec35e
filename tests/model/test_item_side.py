"""The item side: what it is for, and what it makes of a history."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.catalogue import CLICKS, RatingScale
from discreet.model.fold_in import Clicks, FoldIn, FrankWolfeReplay, NonNegative, OwnMean, Ridge
from discreet.model.item_side import ItemSide
from discreet.types import Floats
from tests.model.models import make_model
from tests.web.support.models import RULES
from tests.web.support.models import make_model as make_rule

ITEMS, RANK = 12, 3
STARS = RatingScale((1.0, 5.0))


def ranking_side() -> ItemSide:
    """People give stars, and items are ordered."""
    return replace(make_model("implicit", ITEMS, RANK).item_side, scale=STARS)


def vector_of(side: ItemSide, stars: Floats) -> Floats:
    return side.fold_in(np.array([0, len(stars)]), np.arange(len(stars)), stars)[0, 1:]


@pytest.mark.parametrize(
    "rule",
    [Ridge(), OwnMean(np.ones(ITEMS)), FrankWolfeReplay(np.ones(RANK), 1.0, 1.0), NonNegative(), Clicks()],
)
def test_the_goal_follows_from_the_rule_and_the_scale(rule: FoldIn) -> None:
    side = replace(ranking_side(), rule=rule)
    assert side.goal == ("rank" if isinstance(rule, Clicks) else "rate")
    assert replace(side, scale=CLICKS).goal == "rank"


@pytest.mark.parametrize("kind", RULES)
def test_a_person_alone_has_the_coefficients_of_a_person_among_many(kind: str) -> None:
    """Of one person few rows of the arrays are looked at; to the last bit that makes no difference."""
    side, rng = make_rule(kind).factors, np.random.default_rng(2)
    counts = rng.integers(0, 30, 40)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    items = np.concatenate([np.sort(rng.choice(side.n_items, count, replace=False)) for count in counts])
    values = rng.integers(1, 6, len(items)).astype(float) if side.scale.explicit else np.ones(len(items))
    items = items.astype(np.int32)
    together = side.fold_in(indptr, items, values)
    for user, count in enumerate(counts):
        mine = slice(indptr[user], indptr[user + 1])
        alone = side.fold_in(np.array([0, count]), items[mine], values[mine])
        np.testing.assert_array_equal(alone[0], together[user])


def test_ratings_count_as_opinions_where_a_model_ranks() -> None:
    """The normal equations of the click objective, with the opinions where a click has 1."""
    side, stars = ranking_side(), np.array([5.0, 1.0, 3.0])
    factors, offsets = side.factors, side.offsets
    taken, opinions = np.arange(3), np.array([1.0, -0.8, 0.2])
    assert isinstance(side.rule, Clicks)
    left = factors[taken].T @ factors[taken] + side.rule.gravity * factors.T @ factors + np.eye(RANK)
    right = factors[taken].T @ (opinions - offsets[taken]) - side.rule.gravity * factors.T @ offsets
    np.testing.assert_allclose(vector_of(side, stars), np.linalg.solve(left, right), atol=1e-12)


def test_scores_are_not_brought_into_the_range_of_the_ratings() -> None:
    side = ranking_side()
    coefficients = side.fold_in(np.array([0, 2]), np.array([0, 1]), np.array([5.0, 2.0]))
    scores = side.predict(coefficients, np.zeros(ITEMS, dtype=np.int64), np.arange(ITEMS))
    assert scores.min() < 1.0
    assert len(set(scores)) == ITEMS
    index, best = side.top(coefficients, ITEMS)
    np.testing.assert_allclose(best[0], scores[index[0]])


def test_the_statement_says_the_goal_of_its_model_and_keeps_to_it() -> None:
    for feedback, goal, words in (
        ("explicit", "rate", "trained to predict ratings"),
        ("implicit", "rank", "trained to rank"),
    ):
        statement = make_model(feedback).statement
        assert statement.goal == goal
        assert words in str(statement)
