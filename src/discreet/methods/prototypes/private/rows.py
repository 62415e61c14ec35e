"""What a user brings: a short row, drawn from that user's ratings and bounded by what settings say."""

from __future__ import annotations

from discreet.data.ratings import Ratings
from discreet.errors import CatalogueMissing, RatingsInvalid
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.methods.shared.private.sampling import sample_uniform
from discreet.privacy.bounded_rows import BoundedRows, RowBounds

__all__ = ["rows_of", "settle_bounds"]


def settle_bounds(settings: PrototypeSettings, ratings: Ratings) -> RowBounds:
    """From settings and what is public about the ratings: catalogue and range."""
    if ratings.catalogue is None:
        raise CatalogueMissing("prototypes need a public item list; give ratings a catalogue")
    low, high = (0.0, 1.0) if ratings.rating_range is None else ratings.rating_range
    if low < 0.0 or not high > 0.0:
        raise RatingsInvalid(f"prototypes are non-negative, but the scale is {low:g} to {high:g}; shift it")
    return RowBounds.of(
        (low, high),
        centre=(low + high) / 2.0 if settings.unrated == "missing" else 0.0,
        items=min(settings.most_ratings, len(ratings.catalogue)),
        cap=settings.entry_clip,
        norm=settings.row_clip,
        total=settings.row_sum,
        radius=settings.radius,
    )


def rows_of(ratings: Ratings, bounds: RowBounds, seed: int) -> BoundedRows:
    """At most ``bounds.items`` ratings of each user, drawn by a hash of the user's own, as bounded rows."""
    kept = ratings.keep(sample_uniform(ratings, bounds.items, seed))
    return BoundedRows.of(kept.indptr, kept.items, kept.values, ratings.n_items, bounds)
