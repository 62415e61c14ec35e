"""What a user brings where unrated items count as the user's own level: how far each rating is from that level."""

from __future__ import annotations

import numpy as np

from discreet.data.ratings import Ratings
from discreet.errors import CatalogueMissing
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.methods.shared.private.sampling import draw_numbers, sample_uniform
from discreet.privacy.bounded_rows import BoundedRows, RowBounds
from discreet.privacy.gaussian.pattern import Pattern
from discreet.types import Floats

__all__ = ["OwnRatings"]

# A user's own level is their mean, with so many ratings at the level of all beside it.
_STABILISER = 3.0


class OwnRatings:
    """Ratings in units of half the range around its middle, and deviations from each user's own level.

    Notes
    -----
    **Privacy.** Unit: one user. Everything is a function of one user's ratings and of public numbers: element by
    element, or a sum along one user's segment. What is no number counts as the middle. Which half a rating is in is a
    hash of its own user's ratings.
    """

    def __init__(self, ratings: Ratings, settings: PrototypeSettings) -> None:
        if ratings.catalogue is None:
            raise CatalogueMissing("prototypes need a public item list; give ratings a catalogue")
        if settings.max_ratings is not None:
            ratings = ratings.keep(sample_uniform(ratings, settings.max_ratings, settings.seed))
        low, high = ratings.scale.bounds
        half = (high - low) / 2.0
        cap = half if settings.entry_clip is None else min(half, settings.entry_clip)
        self._cap = cap / half
        self.pattern = Pattern(
            ratings.indptr.astype(np.int64), ratings.items.astype(np.int64), ratings.n_items
        )
        self.half = draw_numbers(ratings, settings.seed) % 2 == 1
        self.values = np.clip(np.nan_to_num((ratings.values - low) / half - 1.0), -1.0, 1.0)

    def deviations(self, level: float) -> Floats:
        """From the user's own level, which is drawn a little to `level`, the released one of all; in [-1, 1]."""
        counts = self.pattern.counts
        own = level + self.pattern.user_sums(self.values - level) / (counts + _STABILISER)
        away = self.values - np.repeat(own, np.diff(self.pattern.indptr))
        return np.clip(away, -self._cap, self._cap)

    def rows(self, deviations: Floats) -> BoundedRows:
        """The deviations as rows of integers, for the projection."""
        n_items = self.pattern.n_items
        bounds = RowBounds.of((-1.0, 1.0), centre=0.0, items=n_items)
        return BoundedRows.of(self.pattern.indptr, self.pattern.items, deviations, n_items, bounds)
