"""Offsets over all releases: averaged by what each says, shrunk last."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.methods.budgeted.public.offsets import OffsetFilter

ITEMS = 4_000


def releases(sigmas: list[float], seed: int = 0) -> tuple[np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    true = 0.4 * rng.standard_normal(ITEMS)
    return true, [true + sigma * rng.standard_normal(ITEMS) for sigma in sigmas]


def filtered(sigmas: list[float], heard: list[np.ndarray], scatter: float = 0.0) -> OffsetFilter:
    known, spread = [np.full(ITEMS, sigma**-2) for sigma in sigmas], np.full(ITEMS, scatter)
    found = OffsetFilter(heard[0], known[0], spread)
    for offsets, info in zip(heard[1:], known[1:], strict=True):
        found = found.heard(offsets, info, spread)
    return found


def test_releases_of_the_same_offsets_average_by_their_noise() -> None:
    sigmas = [2.0, 1.0, 0.5]
    true, heard = releases(sigmas)
    found = filtered(sigmas, heard)
    best = 1.0 / sum(sigma**-2 for sigma in sigmas)
    assert np.mean((found.mean - true) ** 2) == pytest.approx(best, rel=0.08)
    assert 1.0 / found.known.mean() == pytest.approx(best, rel=0.08)


def test_the_estimate_is_as_good_as_one_release_of_the_whole_budget() -> None:
    """The best linear estimate from N(0, 0.16) seen with variance v has the error 0.16 v / (0.16 + v)."""
    sigmas = [1.0] * 4
    true, heard = releases(sigmas)
    found = filtered(sigmas, heard).best(np.ones(ITEMS), None)
    assert np.mean((found - true) ** 2) == pytest.approx(0.16 * 0.25 / (0.16 + 0.25), rel=0.1)


def test_what_has_moved_is_believed_less() -> None:
    _, heard = releases([0.3, 0.3])
    moved = heard[1] + 1.0
    found = filtered([0.3, 0.3], [heard[0], moved])
    towards_new = float(np.mean(found.mean - heard[0])) / float(np.mean(moved - heard[0]))
    assert towards_new > 0.6
    assert found.known.mean() < 1.6 * 0.3**-2


def test_scatter_that_the_fit_explains_by_now_counts_as_noise_of_what_came_before() -> None:
    _, heard = releases([0.1, 0.1])
    before = OffsetFilter(heard[0], np.full(ITEMS, 100.0), np.full(ITEMS, 0.99))
    found = before.heard(heard[1], np.full(ITEMS, 100.0), np.zeros(ITEMS))
    assert found.known.mean() == pytest.approx(100.0 + 1.0 / (0.01 + 0.99), rel=0.05)


def test_scatter_of_single_ratings_never_averages_out() -> None:
    sigmas = [0.01] * 8
    true, _ = releases(sigmas)
    rng = np.random.default_rng(5)
    rated = true + 0.4 * rng.standard_normal(ITEMS)
    found = filtered(sigmas, [rated + 0.01 * rng.standard_normal(ITEMS) for _ in sigmas], scatter=0.16)
    assert np.mean((found.best(np.ones(ITEMS), None) - true) ** 2) == pytest.approx(0.08, rel=0.1)
