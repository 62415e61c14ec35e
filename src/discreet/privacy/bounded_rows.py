"""A user's ratings as a short row or a point of integers within public bounds, made from that user's ratings alone.

Proof note: ``proofs/bounded_rows.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.errors import RatingsInvalid
from discreet.privacy.gaussian.blocks import Pattern
from discreet.types import Bools, Floats, Indices, Ints

__all__ = ["GRID", "HALF_SIDE", "BoundedRows", "Clusters", "RowBounds", "bounded_points"]


GRID = 4096
"""Grid steps of the largest value a row can hold."""
HALF_SIDE = 1 << 15
"""Half a side of the cube that holds all points, in its own steps."""


@dataclass(frozen=True)
class RowBounds:
    """Public: how large a row can be.

    It holds rating - centre, clipped to [-cap, cap], which is `GRID` steps, of at most so many items. In grid steps
    ``norm`` is its L2 bound, and that of its projection, and ``total`` its L1 bound.
    """

    centre: float
    cap: float
    items: int
    norm: float
    total: int
    low: float
    high: float

    @classmethod
    def of(
        cls,
        rating_range: tuple[float, float],
        *,
        centre: float,
        items: int,
        cap: float | None = None,
        norm: float | None = None,
        total: float | None = None,
    ) -> RowBounds:
        """From bounds in units of ratings; what is left out follows from the others."""
        low, high = rating_range
        widest = max(high - centre, centre - low)
        cap = widest if cap is None else min(widest, cap)
        step = cap / GRID
        length = GRID * math.sqrt(items)
        if norm is not None:
            length = min(length, norm / step)
        whole = min(items * GRID, math.floor(math.sqrt(items) * length))
        if total is not None:
            whole = min(whole, math.floor(total / step))
        return cls(centre, cap, items, max(length, 1.0), max(whole, 1), low, high)

    def on_grid(self, values: Floats) -> Ints:
        """Released values less the centre, within the cap and in grid steps."""
        return np.rint(np.clip(values, -self.cap, self.cap) * (GRID / self.cap)).astype(np.int64)


@dataclass(frozen=True)
class BoundedRows:
    """Private: the rows of users, in grid steps; made by :meth:`of`.

    Notes
    -----
    **Privacy.** Unit: one user. Whatever the ratings are, a row has at most ``bounds.items`` entries, none beyond
    `GRID`, with an L2 norm of at most ``bounds.norm`` and an L1 norm of at most ``bounds.total``. It is a function
    of one user's ratings and of public numbers: norms are sums of integers and every other operation is on single
    numbers, so nobody else's row changes by a bit when a user comes or goes.
    """

    pattern: Pattern
    values: Ints
    bounds: RowBounds

    @classmethod
    def of(
        cls, indptr: Indices, items: Indices, ratings: Floats, n_items: int, bounds: RowBounds
    ) -> BoundedRows:
        """Cap, clip and truncate; where a user has more than ``bounds.items`` ratings, the first of them count."""
        counts = np.diff(indptr)
        place = np.arange(len(items)) - np.repeat(indptr[:-1], counts)
        kept = place < bounds.items
        ends = np.concatenate([[0], np.cumsum(np.minimum(counts, bounds.items))]).astype(np.int64)
        pattern = Pattern(ends, items[kept].astype(np.int64), n_items)
        # A value that is no number counts as the centre.
        shifted = np.nan_to_num(np.clip(ratings[kept] - bounds.centre, -bounds.cap, bounds.cap))
        values = np.trunc(shifted * (GRID / bounds.cap)).astype(np.int64)
        norms = np.sqrt(_row_sums(ends, values**2).astype(np.float64))
        values = _shrunk(ends, values, norms, bounds.norm)
        sums = _row_sums(ends, np.abs(values)).astype(np.float64)
        return cls(pattern, _shrunk(ends, values, sums, float(bounds.total)), bounds)

    @property
    def n_users(self) -> int:
        """How many rows; private."""
        return self.pattern.n_users

    @property
    def n_items(self) -> int:
        """Size of the public catalogue."""
        return self.pattern.n_items

    def owners(self) -> Ints:
        """The user of each entry."""
        return np.repeat(np.arange(self.n_users), np.diff(self.pattern.indptr))


@dataclass(frozen=True)
class Clusters:
    """Private: bounded rows, and which of `count` clusters each of their users is in.

    Notes
    -----
    **Privacy.** One number for each user, so nobody is in two clusters; a number outside 0..count - 1 is no
    cluster. A user's number must follow from that user's own ratings and from what was released before.
    """

    rows: BoundedRows
    numbers: Ints
    count: int

    def __post_init__(self) -> None:
        if self.numbers.shape != (self.rows.n_users,):
            raise RatingsInvalid("there must be one cluster for each user")

    @property
    def inside(self) -> Bools:
        """Who is in a cluster."""
        members: Bools = (self.numbers >= 0) & (self.numbers < self.count)
        return members

    def places(self) -> Ints:
        """The cluster of each user as an index, the first for those in none."""
        return np.where(self.inside, self.numbers, 0)


def bounded_points(vectors: Floats) -> Ints:
    """Each row, in steps of the cube, clipped to an L2 norm of at most ``HALF_SIDE - 1`` and truncated.

    **Privacy.** Element by element and along one row, in one order: no user's point depends on another's. What is no
    number or has no norm becomes the middle.
    """
    bound = float(HALF_SIDE - 1)
    squares = np.zeros(len(vectors))
    with np.errstate(over="ignore", invalid="ignore"):
        for column in range(vectors.shape[1]):
            squares += vectors[:, column] ** 2
    usable = np.isfinite(squares)
    # The factor is rounded down a little, so that the clipped norm cannot be rounded up past the bound.
    factor = np.minimum(
        1.0, bound * (1.0 - 1e-12) / np.maximum(np.sqrt(squares, where=usable, out=squares), 1.0)
    )
    inside = np.where(usable[:, None], vectors, 0.0) * np.where(usable, factor, 0.0)[:, None]
    clipped: Ints = np.trunc(inside).astype(np.int64)
    return clipped


def _row_sums(indptr: Ints, values: Ints) -> Ints:
    running = np.concatenate([[0], np.cumsum(values)])
    sums: Ints = running[indptr[1:]] - running[indptr[:-1]]
    return sums


def _shrunk(indptr: Ints, values: Ints, sizes: Floats, bound: float) -> Ints:
    """Bring every row down to the bound; truncation toward zero never raises it again."""
    factor = np.minimum(1.0, bound / np.maximum(sizes, 1.0))
    shrunk: Ints = np.trunc(values * np.repeat(factor, np.diff(indptr))).astype(np.int64)
    return shrunk
