"""What a user brings to prototypes, bounded by what settings say; and means from noisy sums of it.

**Privacy.** Unit: one user. Everything here is a function of one user's ratings and of public numbers, element by
element or along one user's segment, or it is made of what was released. Proof note: ``proofs/prototypes.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import CatalogueMissing, RatingsInvalid
from discreet.kernels import distances as kernels
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.methods.shared.private import sample_uniform
from discreet.privacy.bounded_rows import GRID, HALF_SIDE, BoundedRows, RowBounds, bounded_points
from discreet.privacy.statement import Statement
from discreet.types import Bools, Floats, Ints

__all__ = [
    "Prototypes",
    "TooFewUsers",
    "check_users",
    "from_sums",
    "project",
    "project_directions",
    "rows_of",
    "settle_bounds",
    "shrunken_means",
]

_MATRIX_STEPS = 1024
# Differences count as real beyond so many standard errors of what noise alone would show.
_MARGIN = 2.0
# Variance of a squared deviation over the square of its mean: 5 for Laplace noise, 2 for normal noise.
_OF_SQUARES = 5.0


class TooFewUsers(RatingsInvalid):
    """A silo whose noisy number of users does not stand out; ``statement`` says what finding that out has cost."""

    statement: Statement | None = None


def check_users(noisy: float, least: int) -> None:
    """Refuse a silo by its noisy number of users: the one refusal that tells something of them, and is paid for."""
    if not noisy >= least:
        raise TooFewUsers(
            f"this silo has too few users: a noisy count of {noisy:.0f}, where {least} are needed at this epsilon; "
            "join with another silo, or raise epsilon"
        )


def settle_bounds(settings: PrototypeSettings, ratings: Ratings) -> RowBounds:
    """From settings and what is public about the ratings: catalogue and range."""
    if ratings.catalogue is None:
        raise CatalogueMissing("prototypes need a public item list; give ratings a catalogue")
    low, high = (0.0, 1.0) if ratings.rating_range is None else ratings.rating_range
    if low < 0.0 or not high > 0.0:
        raise RatingsInvalid(f"prototypes are non-negative, but the scale is {low:g} to {high:g}; shift it")
    return RowBounds.of(
        (low, high),
        centre=0.0,
        items=min(settings.most_ratings, len(ratings.catalogue)),
        cap=settings.entry_clip,
        norm=settings.row_clip,
        total=settings.row_sum,
    )


def rows_of(ratings: Ratings, bounds: RowBounds, seed: int) -> BoundedRows:
    """At most ``bounds.items`` ratings of each user, drawn by a hash of the user's own, as bounded rows."""
    kept = ratings.keep(sample_uniform(ratings, bounds.items, seed))
    return BoundedRows.of(kept.indptr, kept.items, kept.values, ratings.n_items, bounds)


def project(rows: BoundedRows, dimension: int, seed: tuple[int, ...]) -> Ints:
    """Johnson-Lindenstrauss: rows to points of the cube, whose half side stands for ``bounds.norm``.

    Projection changes norms, so a bound on the rows says nothing about what comes out: it is clipped again. Sums are
    of integers and therefore exact.
    """
    step = rows.bounds.norm * _MATRIX_STEPS * math.sqrt(dimension)
    return bounded_points(_products(rows, dimension, seed) * (float(HALF_SIDE - 1) / step))


def project_directions(rows: BoundedRows, dimension: int, seed: tuple[int, ...]) -> Ints:
    """Project every row at length 1: which way a user's tastes go, however many ratings say so."""
    squares = np.bincount(rows.owners(), rows.values**2, minlength=rows.n_users)
    steps = np.sqrt(np.maximum(squares, 1.0)) * (_MATRIX_STEPS * math.sqrt(dimension))
    return bounded_points(_products(rows, dimension, seed) * (float(HALF_SIDE - 1) / steps)[:, None])


def _products(rows: BoundedRows, dimension: int, seed: tuple[int, ...]) -> Floats:
    matrix = np.rint(np.random.default_rng(seed).standard_normal((rows.n_items, dimension)) * _MATRIX_STEPS)
    pattern = rows.pattern
    products = kernels.project_rows(pattern.indptr, pattern.items, rows.values, matrix.astype(np.int64))
    return products.astype(np.float64)


@dataclass(frozen=True)
class Prototypes:
    """Public: a row for each cluster on the rating scale, which entries it has, and its noisy size."""

    values: Floats
    mask: Bools
    weights: Floats


def from_sums(
    sums: Ints | Floats,
    sizes: Ints | Floats,
    support: Ints,
    n_items: int,
    bounds: RowBounds,
    *,
    noise: float | None,
) -> Prototypes:
    """Means from noisy sums (of grid steps, on each prototype's support) and sizes; public from here on.

    With the variance of the sums' noise, means are drawn together as far as it explains how they differ.
    """
    step = bounds.cap / GRID
    counts = np.maximum(sizes, 1.0)
    amounts: Floats = sums.astype(np.float64) * step
    means = amounts / counts if noise is None else shrunken_means(amounts, counts, noise * step**2)
    rows = np.arange(len(sums))[:, None]
    values, mask = np.zeros((len(sums), n_items)), np.zeros((len(sums), n_items), dtype=np.bool_)
    values[rows, support] = np.clip(means, max(bounds.low, 0.0), min(bounds.high, bounds.cap))
    mask[rows, support] = True
    return Prototypes(values, mask, np.maximum(sizes.mean(axis=1), 1.0).astype(np.float64))


def shrunken_means(sums: Floats, counts: Floats, variance: float) -> Floats:
    """Means of a table of prototypes x items, each drawn to its row's mean and that to the mean of all.

    At least one stands behind each of the noisy sums, and `variance` is that of their noise.
    """
    if sums.size == 0 or variance == 0.0:
        return sums / counts
    counts = np.broadcast_to(counts, sums.shape)
    in_row = counts.sum(axis=1, keepdims=True)
    rows = sums.sum(axis=1, keepdims=True) / in_row
    centre = np.full_like(rows, sums.sum() / counts.sum())
    rows = _drawn(rows, centre, sums.shape[1] * variance / in_row**2, margin=0.0)
    return _drawn(sums / counts, rows, variance / counts**2, margin=_MARGIN)


def _drawn(means: Floats, centres: Floats, noise: Floats, margin: float) -> Floats:
    """Keep the part of each deviation that one spread, common to all, explains beside the noise."""
    trust = (noise.min() / noise) ** 2
    trust = trust / trust.sum()
    error = np.sqrt(_OF_SQUARES * np.square(trust * noise).sum())
    spread = max(0.0, float((trust * ((means - centres) ** 2 - noise)).sum() - margin * error))
    drawn: Floats = centres + spread / (spread + noise) * (means - centres)
    return drawn
