"""Sparse recovery: from clusters of users to one prototype each, its items and its values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.methods.prototypes.private.shrinkage import shrunken_means
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.methods.prototypes.shares import ShareTable
from discreet.privacy.bounded_rows import GRID, RowBounds
from discreet.privacy.clusters import Clusters
from discreet.privacy.pure.cluster_sums import cluster_sizes, cluster_values, item_sizes, top_items
from discreet.privacy.pure.gate import PureGate
from discreet.types import Bools, Floats, Ints

__all__ = ["Prototypes", "from_sums", "recover"]


@dataclass(frozen=True)
class Prototypes:
    """Public: a row for each cluster on the rating scale, which entries it has, and its noisy size."""

    values: Floats
    mask: Bools
    weights: Floats


def recover(
    clusters: Clusters, settings: PrototypeSettings, shares: ShareTable, gate: PureGate
) -> Prototypes:
    """Support, sums and sizes of all clusters. A user is in one cluster: one charge covers all of them."""
    rows, k = clusters.rows, clusters.count
    size = settings.n_support(rows.n_items)
    if shares.support > 0.0:
        support = top_items(gate, "support", clusters, size, epsilon=shares.support)
    else:
        support = np.tile(np.arange(size), (k, 1))
    values = cluster_values(gate, "values", clusters, support, epsilon=shares.values)
    if settings.unrated != "missing":
        sizes = cluster_sizes(gate, "sizes", clusters, epsilon=shares.sizes)
    else:
        sizes = item_sizes(gate, "sizes", clusters, support, epsilon=shares.sizes)
    return from_sums(
        values.sums,
        sizes.sums,
        support,
        rows.n_items,
        rows.bounds,
        spread=None if settings.unrated != "missing" else sizes.scale,
        noise=2.0 * values.scale**2 if settings.shrink else None,
    )


def from_sums(
    sums: Ints | Floats,
    sizes: Ints | Floats,
    support: Ints,
    n_items: int,
    bounds: RowBounds,
    *,
    spread: float | None,
    noise: float | None,
) -> Prototypes:
    """Means from noisy sums and sizes; public from here on.

    Parameters
    ----------
    sums, sizes, support
        Of each prototype, in grid steps, users, and items; one size for all items of a prototype, or one each.
    spread
        Where items have sizes of their own: scale of their noise. An item whose size is lost in it is missing.
    noise
        Variance of the noise in the sums; means are drawn together as far as it explains how they differ, or left as
        they are where it is None.
    """
    step = bounds.cap / GRID
    counts = np.maximum(sizes, 1.0)
    amounts: Floats = sums.astype(np.float64) * step
    means = amounts / counts if noise is None else shrunken_means(amounts, counts, noise * step**2)
    known = np.ones(sums.shape, dtype=np.bool_) if spread is None else sizes > spread
    rows = np.arange(len(sums))[:, None]
    low, high = max(bounds.low, bounds.centre - bounds.cap, 0.0), min(bounds.high, bounds.centre + bounds.cap)
    values = np.zeros((len(sums), n_items))
    values[rows, support] = np.where(known, np.clip(means + bounds.centre, low, high), 0.0)
    mask = np.zeros((len(sums), n_items), dtype=np.bool_)
    mask[rows, support] = known
    weights = np.maximum(sizes.mean(axis=1), 1.0).astype(np.float64)
    return Prototypes(values, mask, weights)
