"""Ranking on a GPU beside the CPU's, rule by rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from discreet import kernels
from discreet.kernels import gpu
from discreet.kernels.gpu import ranking


def whole_numbers(rows: int, m: int, d: int) -> tuple[Any, Any, Any]:
    """Scores without rounding, so that both rank the same, and with many equal ones."""
    rng = np.random.default_rng(rows)
    return (
        rng.integers(-2, 3, (rows, d)).astype(float),
        rng.integers(-2, 3, (m, d)).astype(float),
        rng.integers(-2, 3, m).astype(float),
    )


def agree(device: torch.device, *given: Any, **more: Any) -> None:
    index, scores = gpu.top_n(*given, **more, device=device)
    wanted, best = kernels.top_n(*given, **more)
    np.testing.assert_array_equal(index, wanted)
    np.testing.assert_array_equal(scores, best)
    assert index.dtype == wanted.dtype
    assert scores.dtype == best.dtype


@pytest.mark.parametrize(
    ("rows", "m", "d", "n"), [(1, 1, 1, 1), (9, 40, 3, 7), (200, 300, 8, 10), (5, 6, 2, 9)]
)
def test_the_cpus_lists_with_ties_by_rising_index(
    rows: int, m: int, d: int, n: int, device: torch.device
) -> None:
    agree(device, *whole_numbers(rows, m, d), n)


def test_excluded_and_forbidden_items_and_those_without_a_score(device: torch.device) -> None:
    coefficients, factors, offsets = whole_numbers(20, 30, 4)
    offsets[3] = np.nan
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 28, 20)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    items = rng.integers(0, 30, indptr[-1]).astype(np.int32)  # repeats too
    allowed = rng.random(30) < 0.7
    agree(device, coefficients, factors, offsets, 12, indptr, items, allowed)


def test_lists_are_ranked_on_the_device_that_was_chosen(
    device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = (*whole_numbers(9, 40, 3), 7)
    wanted = kernels.top_n(*given)
    asked: list[str] = []
    original = gpu.top_n

    def watched(*args: Any, **more: Any) -> Any:
        asked.append(str(more["device"]))
        return original(*args, **more)

    monkeypatch.setattr(gpu, "top_n", watched)
    with kernels.ranking_on(str(device)):
        found = kernels.top_n(*given)
    kernels.top_n(*given)
    assert asked == ([str(device)] if device.type == "cuda" else [])
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_nobody_and_nothing(device: torch.device) -> None:
    agree(device, np.zeros((0, 3)), np.ones((4, 3)), np.zeros(4), 2)
    agree(device, np.ones((2, 3)), np.ones((0, 3)), np.zeros(0), 2)


def test_rows_are_worked_on_in_pieces(device: torch.device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "SCORES", 100)
    agree(device, *whole_numbers(50, 30, 3), 5, np.arange(51), np.arange(50, dtype=np.int32) % 30)


def test_real_scores_are_the_cpus_to_rounding(device: torch.device) -> None:
    rng = np.random.default_rng(3)
    given = rng.standard_normal((60, 16)), rng.standard_normal((500, 16)), rng.standard_normal(500)
    index, scores = gpu.top_n(*given, 10, device=device)
    wanted, best = kernels.top_n(*given, 10)
    np.testing.assert_array_equal(index, wanted)
    np.testing.assert_allclose(scores, best, rtol=1e-12)


def test_what_is_refused(device: torch.device) -> None:
    with pytest.raises(ValueError, match="together"):
        gpu.top_n(np.ones((1, 1)), np.ones((1, 1)), np.ones(1), 1, np.zeros(2, np.int64), device=device)
    with pytest.raises(ValueError, match="offsets"):
        gpu.top_n(np.ones((1, 1)), np.ones((1, 1)), np.ones(2), 1, device=device)
