"""Metrics against loops that follow their definitions word by word."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.evaluation import metrics
from tests.evaluation import reference

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
    indptr = np.concatenate([[0], np.cumsum([len(target) for target in targets])]).astype(np.int64)
    return indptr, np.array([item for target in targets for item in sorted(target)], dtype=np.int64)


def same(found: float, expected: list[float]) -> bool:
    return math.isnan(found) if not expected else found == pytest.approx(np.mean(expected))


@given(case=rankings(), k=st.integers(1, 7))
@settings(max_examples=200, deadline=None)
def test_lists_as_their_metrics_are_defined(
    case: tuple[npt.NDArray[np.int32], list[set[int]]], k: int
) -> None:
    ranking, targets = case
    found = metrics.list_metrics(ranking, *compressed(targets), k)
    for user, (row, target) in enumerate(zip(ranking.tolist(), targets, strict=True)):
        told = {name: float(values[user]) for name, values in found.items()}
        if target:
            wanted = reference.list_metrics([item for item in row if item >= 0], target, k)
            assert told == pytest.approx(wanted)
        else:
            assert all(math.isnan(value) for value in told.values())
    recalls = [float(one) for one, target in zip(found["recall"], targets, strict=True) if target]
    assert same(metrics.recall_at_k(ranking, *compressed(targets), k), recalls)
    assert metrics.recalls(ranking, *compressed(targets), k) == pytest.approx(found["recall"], nan_ok=True)
