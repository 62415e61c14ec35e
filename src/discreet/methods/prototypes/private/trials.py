"""One trial of the pipeline, and the private choice among several."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.kernels.compile import kernel
from discreet.methods.prototypes.private.centres import LOSS_STEPS, Distances, choose_centres, nearest
from discreet.methods.prototypes.private.partition import find_cells
from discreet.methods.prototypes.private.projection import project
from discreet.methods.prototypes.private.recovery import Prototypes, recover
from discreet.methods.prototypes.private.rows import GRID, Bounds, Rows
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.methods.prototypes.shares import ShareTable
from discreet.privacy.pure.gate import PureGate
from discreet.types import Ints

__all__ = ["Trial", "choose_trial", "run_trial"]


@dataclass(frozen=True)
class Trial:
    """Public: what one trial found, and whether nothing but the root cell was left of the partition."""

    prototypes: Prototypes
    cells: tuple[int, ...]
    only_root: bool


def run_trial(
    number: int, rows: Rows, settings: PrototypeSettings, bounds: Bounds, shares: ShareTable, gate: PureGate
) -> Trial:
    """Project, cut, choose, recover.

    What partition and centres leave of their shares, because cells or candidates ran out, goes to the values.
    """
    before = gate.ledger.spent
    points = project(rows, settings.n_dimensions(rows.n_items), bounds.radius, (settings.seed, number))
    cells = find_cells(points, settings, shares, gate)
    rng = np.random.default_rng((settings.seed, number, 1))
    candidates = cells.centres
    if len(candidates) > settings.candidates:
        candidates = candidates[np.sort(rng.choice(len(candidates), settings.candidates, replace=False))]
    distances = Distances.between(points, candidates, settings.loss_cap)
    centres = candidates[choose_centres(distances, settings.prototypes, shares, gate, rng)]
    planned = shares.levels * shares.level + shares.steps * shares.swap
    shares = replace(shares, values=shares.values + max(0.0, planned - (gate.ledger.spent - before)))
    found = recover(rows, nearest(points, centres), len(centres), settings, bounds, shares, gate)
    return Trial(found, cells.levels, cells.only_root)


def choose_trial(
    trials: list[Trial],
    rows: Rows,
    settings: PrototypeSettings,
    bounds: Bounds,
    shares: ShareTable,
    gate: PureGate,
) -> Trial:
    """The trial whose prototypes lie nearest to the users' rows, by noisy minimum; one trial needs no choice."""
    if len(trials) == 1:
        return trials[0]

    def losses() -> Ints:
        return np.array([_loss(trial.prototypes, rows, settings, bounds) for trial in trials], dtype=np.int64)

    best = gate.lowest("choice among trials", losses, bound=LOSS_STEPS, epsilon=shares.choice)
    return trials[best]


def _loss(found: Prototypes, rows: Rows, settings: PrototypeSettings, bounds: Bounds) -> int:
    """Sum over users of the squared distance to the nearest prototype, each capped at `LOSS_STEPS` steps."""
    shifted = np.where(found.mask, found.values - bounds.centre, 0.0)
    grid = np.rint(np.clip(shifted, -bounds.cap, bounds.cap) * (GRID / bounds.cap)).astype(np.int64)
    cap = max(1, int(settings.loss_cap * bounds.norm**2))
    steps = np.empty(rows.n_users, dtype=np.int64)
    _row_losses(
        rows.indptr, rows.items, rows.values, grid, settings.unrated == "zero", cap, LOSS_STEPS, steps
    )
    return int(steps.sum())


@kernel
def _row_losses(
    indptr: Any, items: Any, values: Any, prototypes: Any, whole: bool, cap: int, steps: int, out: Any
) -> None:
    norms = (prototypes * prototypes).sum(axis=1)
    for i in range(len(out)):
        best = np.int64(-1)
        for z in range(len(prototypes)):
            square = norms[z] if whole else np.int64(0)
            for entry in range(indptr[i], indptr[i + 1]):
                at = prototypes[z, items[entry]]
                gap = values[entry] - at
                square += gap * gap
                if whole:
                    square -= at * at
            if best < 0 or square < best:
                best = square
        out[i] = steps if best >= cap else best * steps // cap
