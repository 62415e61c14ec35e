"""One trial of the pipeline, and the private choice among several."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet import kernels
from discreet.methods.prototypes.private.centres import choose_centres
from discreet.methods.prototypes.private.partition import find_cells
from discreet.methods.prototypes.private.projection import project
from discreet.methods.prototypes.private.recovery import Prototypes, recover
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.methods.prototypes.shares import ShareTable
from discreet.privacy.bounded_rows import BoundedRows
from discreet.privacy.clusters import Clusters
from discreet.privacy.pure.gate import PureGate
from discreet.privacy.pure.losses import Distances, nearest_tables

__all__ = ["Trial", "choose_trial", "run_trial"]


@dataclass(frozen=True)
class Trial:
    """Public: what one trial found, and whether nothing but the root cell was left of the partition."""

    prototypes: Prototypes
    cells: tuple[int, ...]
    only_root: bool


def run_trial(
    number: int, rows: BoundedRows, settings: PrototypeSettings, shares: ShareTable, gate: PureGate
) -> Trial:
    """Project, cut, choose, recover.

    What partition and centres leave of their shares, because cells or candidates ran out, goes to the values.
    """
    before = gate.ledger.spent
    points = project(rows, settings.n_dimensions(rows.n_items), (settings.seed, number))
    cells = find_cells(points, settings, shares, gate)
    rng = np.random.default_rng((settings.seed, number, 1))
    candidates = cells.centres
    if len(candidates) > settings.candidates:
        candidates = candidates[np.sort(rng.choice(len(candidates), settings.candidates, replace=False))]
    distances = Distances.between(points, candidates, settings.loss_cap)
    centres = candidates[choose_centres(distances, settings.most_prototypes, shares, gate, rng)]
    planned = shares.levels * shares.level + shares.steps * shares.swap
    shares = replace(shares, values=shares.values + max(0.0, planned - (gate.ledger.spent - before)))
    clusters = Clusters(rows, kernels.nearest_centres(points, centres), len(centres))
    found = recover(clusters, settings, shares, gate)
    return Trial(found, cells.levels, cells.only_root)


def choose_trial(
    trials: list[Trial], rows: BoundedRows, settings: PrototypeSettings, shares: ShareTable, gate: PureGate
) -> Trial:
    """The trial whose prototypes lie nearest to the users' rows, by noisy minimum; one trial needs no choice."""
    if len(trials) == 1:
        return trials[0]
    found = [trial.prototypes for trial in trials]
    best = nearest_tables(
        gate,
        "choice among trials",
        rows,
        [np.where(one.mask, one.values - rows.bounds.centre, 0.0) for one in found],
        loss_cap=settings.loss_cap,
        whole=settings.unrated != "missing",
        epsilon=shares.choice,
    )
    return trials[best]
