"""Rows and their projections: bounds hold on the integers, and nobody's row depends on anybody else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.kernels import distances as kernels
from discreet.methods.prototypes.private.rows import project, rows_of, settle_bounds
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.privacy.bounded_rows import GRID, HALF_SIDE
from discreet.privacy.pure.clusters import LOSS_STEPS, Distances
from tests.methods.prototypes.worlds import hostile, ratings, silo

CROWD = [*silo(50, 3), *hostile().values()]


@pytest.mark.parametrize(
    "changes", [{}, {"row_clip": 4.0}, {"row_sum": 7.0}, {"entry_clip": 1.5}, {"max_ratings": 3}], ids=str
)
def test_rows_are_within_their_bounds(changes: dict[str, Any]) -> None:
    chosen = PrototypeSettings.checked(**changes)
    given = ratings(CROWD)
    bounds = settle_bounds(chosen, given)
    rows = rows_of(given, bounds, 0)
    for user in range(rows.n_users):
        row = rows.values[rows.pattern.indptr[user] : rows.pattern.indptr[user + 1]]
        assert len(row) <= bounds.items
        assert np.abs(row).max(initial=0) <= GRID
        assert (row**2).sum() <= bounds.norm**2 * (1 + 1e-12)
        assert np.abs(row).sum() <= bounds.total


def test_projected_rows_are_clipped_again() -> None:
    given = ratings(CROWD)
    rows = rows_of(given, settle_bounds(PrototypeSettings.checked(), given), 0)
    points = project(replace(rows, bounds=replace(rows.bounds, norm=0.03 * rows.bounds.norm)), 3, (0, 0))
    norms = np.sqrt((points**2).sum(axis=1))
    assert norms.max() <= HALF_SIDE - 1
    # Without clipping most of them would be outside.
    assert (norms > 0.99 * HALF_SIDE).mean() > 0.5


def test_a_row_does_not_depend_on_the_others() -> None:
    chosen = PrototypeSettings.checked(max_ratings=4, row_clip=6.0)
    whole, alone = ratings(CROWD), ratings([CROWD[9]])
    rows, row = (rows_of(one, settle_bounds(chosen, one), 0) for one in (whole, alone))
    part = slice(rows.pattern.indptr[9], rows.pattern.indptr[10])
    assert (rows.values[part] == row.values).all()
    assert (rows.pattern.items[part] == row.pattern.items).all()
    assert (project(rows, 3, (0, 0))[9] == project(row, 3, (0, 0))[0]).all()


def test_swap_losses_are_the_losses_of_the_swapped_sets() -> None:
    rng = np.random.default_rng(0)
    points = rng.integers(-20_000, 20_000, (40, 2))
    candidates = rng.integers(-20_000, 20_000, (9, 2))
    distances = Distances.between(points, candidates, 1.0)
    assert distances.steps.min() >= 0
    assert distances.steps.max() == LOSS_STEPS
    for size in (1, 2, 4):
        chosen = np.arange(size)
        losses = distances.swap_losses(chosen)
        for out in range(size):
            for into in range(size, 9):
                swapped = chosen.copy()
                swapped[out] = into
                assert losses[out, into] == distances.loss(swapped)
    square = ((points[:, None] - candidates[None]) ** 2).sum(axis=2)
    assert (kernels.nearest_centres(points, candidates) == square.argmin(axis=1)).all()
