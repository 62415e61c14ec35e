"""Metrics against loops that follow their definitions word by word."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.evaluation import metrics

ITEMS = 9


@st.composite
def rankings(draw: st.DrawFn) -> tuple[npt.NDArray[np.int32], list[set[int]]]:
    """Rankings of up to five distinct items with -1 at the end, and a target set for each user."""
    length = draw(st.integers(1, 5))
    users = draw(st.integers(1, 6))
    rows, targets = [], []
    for _ in range(users):
        order = draw(st.permutations(range(ITEMS)))
        kept = draw(st.integers(0, length))
        rows.append([*order[:kept], *[-1] * (length - kept)])
        targets.append(draw(st.sets(st.integers(0, ITEMS - 1))))
    return np.array(rows, dtype=np.int32), targets


def compressed(targets: list[set[int]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    indptr = np.concatenate([[0], np.cumsum([len(target) for target in targets])])
    return indptr, np.array([item for target in targets for item in sorted(target)], dtype=np.int64)


def same(found: float, expected: list[float]) -> bool:
    return math.isnan(found) if not expected else found == pytest.approx(np.mean(expected))


@given(case=rankings(), k=st.integers(1, 7))
@settings(max_examples=200, deadline=None)
def test_recall_as_the_paper_defines_it(case: tuple[npt.NDArray[np.int32], list[set[int]]], k: int) -> None:
    ranking, targets = case
    expected = []
    for row, target in zip(ranking.tolist(), targets, strict=True):
        if target:
            predicted = {item for item in row[:k] if item >= 0}
            expected.append(len(predicted & target) / min(k, len(target)))
    assert same(metrics.recall_at_k(ranking, *compressed(targets), k), expected)


@given(case=rankings(), k=st.integers(1, 7))
@settings(max_examples=200, deadline=None)
def test_ndcg(case: tuple[npt.NDArray[np.int32], list[set[int]]], k: int) -> None:
    ranking, targets = case
    expected = []
    for row, target in zip(ranking.tolist(), targets, strict=True):
        if target:
            gain = sum(1 / math.log2(place + 2) for place, item in enumerate(row[:k]) if item in target)
            best = sum(1 / math.log2(place + 2) for place in range(min(k, len(target))))
            expected.append(gain / best)
    assert same(metrics.ndcg_at_k(ranking, *compressed(targets), k), expected)


@given(case=rankings())
@settings(max_examples=100, deadline=None)
def test_coverage(case: tuple[npt.NDArray[np.int32], list[set[int]]]) -> None:
    ranking, _ = case
    shown = {item for row in ranking.tolist() for item in row if item >= 0}
    assert metrics.coverage(ranking, ITEMS) == pytest.approx(len(shown) / ITEMS)


def test_a_perfect_and_a_hopeless_ranking() -> None:
    targets = compressed([{1, 2}, {0}])
    assert metrics.recall_at_k(np.array([[2, 1, 5], [0, 3, 4]]), *targets, 3) == 1.0
    assert metrics.ndcg_at_k(np.array([[2, 1, 5], [0, 3, 4]]), *targets, 3) == pytest.approx(1.0)
    assert metrics.recall_at_k(np.array([[3, 4, 5], [1, 2, 3]]), *targets, 3) == 0.0


def test_one_user_s_targets_are_not_another_s() -> None:
    """Keys of user and item must not run into each other."""
    indptr, items = compressed([{8}, set()])
    assert not metrics.hits(np.array([[0], [8]]), indptr, items).any()


def test_rankings_and_targets_must_be_of_the_same_users() -> None:
    with pytest.raises(ValueError, match="1 rankings for 2 users"):
        metrics.hits(np.array([[0]]), *compressed([{1}, {2}]))


def test_errors_of_ratings() -> None:
    rng = np.random.default_rng(0)
    predicted, actual = rng.uniform(1, 5, 50), rng.uniform(1, 5, 50)
    squares = [(p - a) ** 2 for p, a in zip(predicted, actual, strict=True)]
    sizes = [abs(p - a) for p, a in zip(predicted, actual, strict=True)]
    assert metrics.rmse(predicted, actual) == pytest.approx(math.sqrt(sum(squares) / 50))
    assert metrics.mae(predicted, actual) == pytest.approx(sum(sizes) / 50)
    assert math.isnan(metrics.rmse(np.empty(0), np.empty(0)))
    assert math.isnan(metrics.mae(np.empty(0), np.empty(0)))
