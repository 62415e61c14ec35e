"""The paper's pipeline, without delta: private partition, candidates, local swaps, sparse recovery, choice of a trial.

Paper 003, algorithm 3 with 4 (partition), 5 (candidates), 6 (local swap) after Balcan et al. (2017), and 1 (sparse
recovery). Corrected: every release of every trial has its share of epsilon (`ShareTable`) where the paper gives the
whole of it to each; cells are visited where occupied, the others drawn by number from the right binomial; the partition
ends at a depth; projected rows are clipped again; noise is never scaled by an exact number of users; the last choice of
local swap prefers the lower loss. Proof note: ``proofs/prototypes.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from discreet.data.ratings import Ratings
from discreet.kernels import distances as kernels
from discreet.methods.prototypes.private.rows import (
    Prototypes,
    check_users,
    from_sums,
    project,
    rows_of,
    settle_bounds,
)
from discreet.methods.prototypes.settings import FAILURE, PrototypeSettings, ShareTable
from discreet.privacy.bounded_rows import HALF_SIDE, BoundedRows, Clusters
from discreet.privacy.pure.clusters import (
    Distances,
    cluster_sizes,
    cluster_values,
    count_users,
    nearest_tables,
    top_items,
)
from discreet.privacy.pure.gate import PureGate
from discreet.privacy.pure.noise import PureNoise
from discreet.types import Ints

__all__ = ["Cells", "Trial", "cell_threshold", "find_cells", "prototypes_through"]

Keys = npt.NDArray[np.uint8]

_SIDE_BITS = (2 * HALF_SIDE).bit_length() - 1
_PARENT_BYTES = 4
# Empty cells that pass a split on average, and most cell centres that are candidates.
_FALSE_CELLS, _CANDIDATES = 0.1, 512


@dataclass(frozen=True)
class Trial:
    """Public: what one trial found, and how many cells each level of its partition had."""

    prototypes: Prototypes
    cells: tuple[int, ...]


def prototypes_through(
    gate: PureGate, ratings: Ratings, epsilon: float, settings: PrototypeSettings
) -> Trial:
    """The whole pipeline, every release through this gate."""
    bounds = settle_bounds(settings, ratings)
    shares = ShareTable.of(settings, ratings.n_items, epsilon)
    rows = rows_of(ratings, bounds, settings.seed)
    noisy = count_users(gate, "silo count", rows.n_users, epsilon=shares.count)
    check_users(noisy, settings.least_users(shares.count))
    trials = [_run_trial(number, rows, settings, shares, gate) for number in range(shares.trials)]
    if len(trials) == 1:
        return trials[0]
    # The trial whose prototypes lie nearest to the users' rows, by noisy minimum.
    found = [trial.prototypes for trial in trials]
    best = nearest_tables(
        gate,
        "choice among trials",
        rows,
        [one.values for one in found],
        loss_cap=settings.loss_cap,
        epsilon=shares.choice,
    )
    return trials[best]


def _run_trial(
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
    if len(candidates) > _CANDIDATES:
        candidates = candidates[np.sort(rng.choice(len(candidates), _CANDIDATES, replace=False))]
    distances = Distances.between(points, candidates, settings.loss_cap)
    centres = candidates[_choose_centres(distances, settings.most_prototypes, shares, gate, rng)]
    planned = shares.levels * shares.level + shares.steps * shares.swap
    shares = replace(shares, values=shares.values + max(0.0, planned - (gate.ledger.spent - before)))
    clusters = Clusters(rows, kernels.nearest_centres(points, centres), len(centres))
    return Trial(_recover(clusters, settings, shares, gate), cells.levels)


@dataclass(frozen=True)
class Cells:
    """Public: centres of all cubes that were crowded, the root first, and how many each level had."""

    centres: Ints
    levels: tuple[int, ...]


def cell_threshold(settings: PrototypeSettings, dimension: int, shares: ShareTable) -> int:
    """Noisy number of users from which a cube counts as crowded."""
    if settings.threshold == "printed":
        # gamma = 20 / eps' log(n / delta) with eps' a level's share (algorithm 4).
        return max(1, math.ceil(20.0 / shares.level * math.log(settings.users / FAILURE)))
    if settings.threshold == "auto":
        return max(1, math.ceil((dimension * math.log(2.0) - math.log(_FALSE_CELLS)) / shares.level))
    return settings.threshold


def find_cells(points: Ints, settings: PrototypeSettings, shares: ShareTable, gate: PureGate) -> Cells:
    """Algorithm 4: cut the cube in half along every axis, level by level, where enough users are.

    A level's cells are disjoint, so that a user counts in one of them.
    """
    dimension = points.shape[1]
    threshold = cell_threshold(settings, dimension, shares)
    prefixes = np.zeros((1, dimension), dtype=np.int64)
    home = np.zeros(len(points), dtype=np.int64)
    found, levels = [_cell_centres(prefixes, 0)], [1]
    for level in range(1, shares.levels + 1):
        bits = ((points + HALF_SIDE) >> (_SIDE_BITS - level)) & 1
        inside = home >= 0
        keys = _keys(home[inside], bits[inside])
        crowded = gate.crowded(
            "partition level",
            keys,
            universe=len(prefixes) << dimension,
            draw=_Any(len(prefixes), dimension),
            threshold=threshold,
            epsilon=shares.level,
        )
        levels.append(len(crowded))
        if not len(crowded):
            break
        parents = np.ascontiguousarray(crowded[:, :_PARENT_BYTES]).view(">u4").ravel().astype(np.int64)
        halves = np.unpackbits(crowded[:, _PARENT_BYTES:], axis=1)[:, :dimension].astype(np.int64)
        prefixes = 2 * prefixes[parents] + halves
        found.append(_cell_centres(prefixes, level))
        place = {row.tobytes(): number for number, row in enumerate(crowded)}
        home[inside] = [place.get(row.tobytes(), -1) for row in keys]
    return Cells(np.concatenate(found), tuple(levels))


@dataclass(frozen=True)
class _Any:
    """Draws one of the children of any of the cells, all alike."""

    parents: int
    dimension: int

    def __call__(self, noise: PureNoise) -> Keys:
        length = max(1, (self.parents - 1).bit_length())
        parent = self.parents
        while parent >= self.parents:
            parent = noise.bits(length)
        child = noise.bits(self.dimension)
        bits = np.array([[child >> place & 1 for place in range(self.dimension)]], dtype=np.int64)
        key: Keys = _keys(np.array([parent]), bits)[0]
        return key


def _keys(parents: Ints, bits: Ints) -> Keys:
    head = parents.astype(">u4").view(np.uint8).reshape(len(parents), _PARENT_BYTES)
    return np.concatenate([head, np.packbits(bits.astype(np.uint8), axis=1)], axis=1)


def _cell_centres(prefixes: Ints, level: int) -> Ints:
    return ((2 * prefixes + 1) << (_SIDE_BITS - level - 1)) - HALF_SIDE


def _choose_centres(
    distances: Distances, k: int, shares: ShareTable, gate: PureGate, rng: np.random.Generator
) -> Ints:
    """Algorithm 6: positions of at most k candidates by local swaps, each the noisy best; then the best of all."""
    count = distances.n_candidates
    if count <= k:
        return np.arange(count)
    chosen = rng.choice(count, size=k, replace=False)
    visited = []
    for _ in range(shares.steps - 1):
        others = np.setdiff1d(np.arange(count), chosen)
        leaves, comes = distances.best_swap(gate, "centre swap", chosen, others, epsilon=shares.swap)
        chosen = chosen.copy()
        chosen[leaves] = others[comes]
        visited.append(chosen)
    return visited[distances.best_set(gate, "centre swap", visited, epsilon=shares.swap)]


def _recover(
    clusters: Clusters, settings: PrototypeSettings, shares: ShareTable, gate: PureGate
) -> Prototypes:
    """Algorithm 1: support, sums and sizes. A user is in one cluster: one charge covers all of them."""
    rows = clusters.rows
    size = settings.n_support(rows.n_items)
    support = np.tile(np.arange(size), (clusters.count, 1))
    if shares.support > 0.0:
        support = top_items(gate, "support", clusters, size, epsilon=shares.support)
    values = cluster_values(gate, "values", clusters, support, epsilon=shares.values)
    sizes = cluster_sizes(gate, "sizes", clusters, epsilon=shares.sizes)
    return from_sums(
        *(values.sums, sizes.sums, support, rows.n_items, rows.bounds),
        noise=2.0 * values.scale**2 if settings.shrink else None,
    )
