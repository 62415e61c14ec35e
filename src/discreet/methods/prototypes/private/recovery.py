"""Sparse recovery: from clusters of users to one prototype each, its items and its values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.methods.prototypes.private.rows import GRID, Bounds, Rows
from discreet.methods.prototypes.private.shrinkage import shrunken_means
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.methods.prototypes.shares import ShareTable
from discreet.privacy.pure.contributions import Contributions
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
    bound = min(bounds.total, widest * GRID)
    given = Contributions(*inside, rows.values[kept], rows.n_users, k * size)
    sums = gate.sums("values", given, bound=bound, epsilon=shares.values).reshape(k, size)
    if settings.unrated == "zero":
        members = Contributions(np.arange(rows.n_users), clusters, np.ones_like(clusters), rows.n_users, k)
        sizes = gate.sums("sizes", members, bound=1, epsilon=shares.sizes)[:, None]
        spread: float | None = None
    else:
        raters = Contributions(*inside, ones[kept], rows.n_users, k * size)
        sizes = gate.sums("sizes", raters, bound=widest, epsilon=shares.sizes).reshape(k, size)
        spread = widest / shares.sizes
    noise = 2.0 * (bound / shares.values) ** 2 if settings.shrink else None
    return from_sums(sums, sizes, support, rows.n_items, bounds, spread=spread, noise=noise)


def from_sums(
    sums: Ints | Floats,
    sizes: Ints | Floats,
    support: Ints,
    n_items: int,
    bounds: Bounds,
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
