"""What a user brings: a short row of integers within public bounds, made from that user's ratings alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import CatalogueMissing, RatingsInvalid
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.methods.shared.private.sampling import sample_uniform
from discreet.types import Floats, Ints

__all__ = ["GRID", "Bounds", "Rows"]


GRID = 4096
"""Grid steps of the largest value a row can hold."""


@dataclass(frozen=True)
class Bounds:
    """Public: how large a row can be.

    Attributes
    ----------
    centre, cap
        A row holds rating - centre, clipped to [-cap, cap]; `cap` is `GRID` steps.
    items
        Ratings of a user that count.
    norm, total, radius
        L2 and L1 bound of a row and L2 bound of its projection, in grid steps.
    low, high
        The rating range.
    """

    centre: float
    cap: float
    items: int
    norm: float
    total: int
    radius: float
    low: float
    high: float

    @classmethod
    def of(cls, settings: PrototypeSettings, ratings: Ratings) -> Bounds:
        """From settings and what is public about the ratings: catalogue and range."""
        if ratings.catalogue is None:
            raise CatalogueMissing("prototypes need a public item list; give ratings a catalogue")
        low, high = (0.0, 1.0) if ratings.rating_range is None else ratings.rating_range
        if low < 0.0 or not high > 0.0:
            raise RatingsInvalid(
                f"prototypes are non-negative, but the scale is {low:g} to {high:g}; shift it"
            )
        centre = (low + high) / 2.0 if settings.unrated == "missing" else 0.0
        widest = max(high - centre, centre - low)
        cap = widest if settings.value_cap is None else min(widest, settings.value_cap)
        items = min(settings.items_per_user, len(ratings.catalogue))
        step = cap / GRID
        norm = GRID * math.sqrt(items)
        if settings.row_norm is not None:
            norm = min(norm, settings.row_norm / step)
        total = min(items * GRID, math.floor(math.sqrt(items) * norm))
        if settings.row_sum is not None:
            total = min(total, math.floor(settings.row_sum / step))
        radius = norm if settings.radius is None else settings.radius / step
        return cls(centre, cap, items, max(norm, 1.0), max(total, 1), max(radius, 1.0), low, high)


@dataclass(frozen=True)
class Rows:
    """Private: the bounded rows of a silo's users, in grid steps.

    Notes
    -----
    **Privacy.** A row is a function of one user's ratings and of public numbers: the draw is a hash of the ratings
    themselves, norms are sums of integers, and every other operation is on single numbers, so nobody else's row
    changes by a bit when a user comes or goes.
    """

    indptr: Ints
    items: Ints
    values: Ints
    n_items: int

    @classmethod
    def of(cls, ratings: Ratings, bounds: Bounds, seed: int) -> Rows:
        """Cap, clip and truncate the ratings to the grid."""
        kept = ratings.keep(sample_uniform(ratings, bounds.items, seed))
        # A value that is no number counts as the centre.
        shifted = np.nan_to_num(np.clip(kept.values - bounds.centre, -bounds.cap, bounds.cap))
        values = np.trunc(shifted * (GRID / bounds.cap)).astype(np.int64)
        indptr = kept.indptr.astype(np.int64)
        norms = np.sqrt(_row_sums(indptr, values**2).astype(np.float64))
        values = _shrunk(indptr, values, norms, bounds.norm)
        sums = _row_sums(indptr, np.abs(values)).astype(np.float64)
        values = _shrunk(indptr, values, sums, float(bounds.total))
        return cls(indptr, kept.items.astype(np.int64), values, ratings.n_items)

    @property
    def n_users(self) -> int:
        """How many rows; private."""
        return len(self.indptr) - 1

    def owners(self) -> Ints:
        """The user of each entry."""
        return np.repeat(np.arange(self.n_users), np.diff(self.indptr))


def _row_sums(indptr: Ints, values: Ints) -> Ints:
    running = np.concatenate([[0], np.cumsum(values)])
    sums: Ints = running[indptr[1:]] - running[indptr[:-1]]
    return sums


def _shrunk(indptr: Ints, values: Ints, sizes: Floats, bound: float) -> Ints:
    """Bring every row down to the bound; truncation toward zero never raises it again."""
    factor = np.minimum(1.0, bound / np.maximum(sizes, 1.0))
    shrunk: Ints = np.trunc(values * np.repeat(factor, np.diff(indptr))).astype(np.int64)
    return shrunk
