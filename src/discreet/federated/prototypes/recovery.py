"""Sparse recovery: from clusters of users to one prototype each, its items and its values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.federated.prototypes.rows import GRID, Bounds, Rows
from discreet.federated.prototypes.settings import PrototypeSettings
from discreet.federated.prototypes.shares import ShareTable
from discreet.privacy.pure_contributions import Contributions
from discreet.privacy.pure_gate import PureGate

__all__ = ["Prototypes", "from_sums", "recover"]

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Prototypes:
    """Public: a row for each cluster on the rating scale, which entries it has, and its noisy size."""

    values: Floats
    mask: Mask
    weights: Floats


def recover(
    rows: Rows,
    clusters: Ints,
    k: int,
    settings: PrototypeSettings,
    bounds: Bounds,
    shares: ShareTable,
    gate: PureGate,
) -> Prototypes:
    """Support, sums and sizes of all clusters. A user is in one cluster: one charge covers all of them."""
    users = rows.owners()
    size = settings.n_support(rows.n_items)
    ones = np.ones(len(users), dtype=np.int64)
    if shares.support > 0.0:
        counts = Contributions(
            users, clusters[users] * rows.n_items + rows.items, ones, rows.n_users, k * rows.n_items
        )
        support = gate.top(
            "support", counts, groups=k, most=size, user_cells=bounds.items, epsilon=shares.support
        )
    else:
        support = np.tile(np.arange(size), (k, 1))
    place = np.full((k, rows.n_items), -1, dtype=np.int64)
    place[np.arange(k)[:, None], support] = np.arange(k * size).reshape(k, size)
    cells = place[clusters[users], rows.items]
    kept = cells >= 0
    inside = users[kept], cells[kept]
    widest = min(bounds.items, size)
    sums = gate.sums(
        "values",
        Contributions(*inside, rows.values[kept], rows.n_users, k * size),
        bound=min(bounds.total, widest * GRID),
        epsilon=shares.values,
    ).reshape(k, size)
    if settings.unrated == "zero":
        members = Contributions(np.arange(rows.n_users), clusters, np.ones_like(clusters), rows.n_users, k)
        sizes = gate.sums("sizes", members, bound=1, epsilon=shares.sizes)[:, None]
        spread = 1.0 / shares.sizes
    else:
        raters = Contributions(*inside, ones[kept], rows.n_users, k * size)
        sizes = gate.sums("sizes", raters, bound=widest, epsilon=shares.sizes).reshape(k, size)
        spread = widest / shares.sizes
    return from_sums(sums, sizes, spread, support, rows.n_items, bounds)


def from_sums(
    sums: Ints | Floats, sizes: Ints | Floats, spread: float, support: Ints, n_items: int, bounds: Bounds
) -> Prototypes:
    """Means from noisy sums and sizes; public from here on.

    Where single items were counted (`sizes` has a column for each), an item whose count is lost in its noise, of
    scale `spread`, is missing, and means of few are drawn to the cluster's own.
    """
    k = len(sums)
    amounts = sums * (bounds.cap / GRID)
    if sizes.shape[1] == 1:
        means = amounts / np.maximum(sizes, 1.0)
        known = np.ones(sums.shape, dtype=np.bool_)
    else:
        counts = np.maximum(sizes, 0.0)
        common = amounts.sum(axis=1, keepdims=True) / np.maximum(
            counts.sum(axis=1, keepdims=True), spread + 1.0
        )
        common = np.clip(common, -bounds.cap, bounds.cap)
        means = common + (amounts - counts * common) / (counts + spread + 1.0)
        known = sizes > spread
    values = np.zeros((k, n_items))
    mask = np.zeros((k, n_items), dtype=np.bool_)
    rows = np.arange(k)[:, None]
    # What is missing is at the row's centre, which nobody reads behind the mask.
    values[rows, support] = np.where(
        known, np.clip(means + bounds.centre, max(bounds.low, 0.0), bounds.high), 0.0
    )
    mask[rows, support] = known
    weights = np.maximum(sizes.mean(axis=1), 1.0).astype(np.float64)
    return Prototypes(values, mask, weights)
