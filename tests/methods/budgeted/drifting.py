"""A market month by month: tastes for items, what they are worth and how popular they are drift, and items come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.catalogue.columns import check_range
from discreet.data.ratings import Ratings
from discreet.data.splits import Rng
from discreet.data.synthetic import (
    activity,
    draw_weighted,
    factors,
    items_of,
    moods_of,
    most_items,
    offsets_of,
    on_scale,
    popularity,
    stars_of,
)
from discreet.errors import SettingsInvalid
from discreet.types import Floats

__all__ = ["drifting_market"]


def drifting_market(
    months: int = 3,
    n_users: int = 2_000,
    n_items: int = 500,
    n_ratings: int = 100_000,
    *,
    new_items: int = 0,
    drift: float = 0.2,
    staying: float = 0.0,
    lift: float = 0.4,
    rng: Rng = None,
    rating_range: tuple[float, float] = (1.0, 5.0),
) -> list[Ratings]:
    """Ratings of one market in several months, each with the shape of :func:`discreet.data.synthetic.market`.

    Parameters
    ----------
    months
        How many.
    n_users, n_ratings
        Of every month.
    n_items
        Of the first month.
    new_items
        How many items come in every later month. No item goes.
    drift
        Share of the spread of items' traits, offsets and (log) popularity that is drawn anew every month, in standard
        deviations: after one month an item's traits have the correlation ``sqrt(1 - drift ** 2)`` with what they were.
    staying
        Share of a month's users who are there in the next month too, with the same taste and the same id.
    lift, rating_range
        As in :func:`discreet.data.synthetic.market`.

    Returns
    -------
    list of Ratings
        One for each month. The catalogue of a month has all items that have come so far.
    """
    low_high = check_range(rating_range, rated=True)
    if not (months >= 1 and new_items >= 0 and 0.0 <= drift <= 1.0 and 0.0 <= staying <= 1.0):
        raise SettingsInvalid(
            f"there must be at least one month and no fewer than 0 new items, and drift and staying lie between 0 "
            f"and 1, not {months}, {new_items}, {drift} and {staying}"
        )
    most = most_items(n_users, n_items, n_ratings)
    generator = np.random.default_rng(rng)
    ids, tastes = np.arange(1, n_users + 1), factors(n_users, generator)
    moods = moods_of(n_users, generator)
    items = _Items.drawn(n_items, generator)
    found = []
    for month in range(months):
        if month:
            items = items.moved(drift, generator).joined(_Items.drawn(new_items, generator))
            leaving = generator.permutation(n_users)[: n_users - round(staying * n_users)]
            ids, tastes, moods = ids.copy(), tastes.copy(), moods.copy()
            ids[leaving] = ids.max() + 1 + np.arange(len(leaving))
            tastes[leaving] = factors(len(leaving), generator)
            moods[leaving] = moods_of(len(leaving), generator)
        counts = activity(n_users, n_ratings, most, generator)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        # The same law of popularity every month; who is where in it drifts.
        weights = np.empty(len(items.fame))
        weights[np.argsort(-items.fame)] = popularity(counts, len(items.fame), lift)
        taken = draw_weighted(generator, indptr, weights, tastes, items.traits, lift)
        users = np.repeat(np.arange(n_users, dtype=np.int32), counts)
        offsets = offsets_of(weights, items.worth)
        stars = stars_of(users, taken, tastes, items.traits, moods, offsets, generator)
        listed = items_of(len(weights), n_items + (months - 1) * new_items)
        found.append(Ratings(indptr, taken, on_scale(stars, rating_range), ids, listed, low_high))
    return found


@dataclass(frozen=True)
class _Items:
    """Traits, what an item is worth beside its fame (standard normal), and its place in popularity (likewise)."""

    traits: Floats
    worth: Floats
    fame: Floats

    @classmethod
    def drawn(cls, count: int, rng: np.random.Generator) -> _Items:
        return cls(factors(count, rng), rng.standard_normal(count), rng.standard_normal(count))

    def moved(self, drift: float, rng: np.random.Generator) -> _Items:
        """A month later; every number keeps its distribution."""
        kept, fresh = float(np.sqrt(1.0 - drift**2)), _Items.drawn(len(self.fame), rng)
        return _Items(
            kept * self.traits + drift * fresh.traits,
            kept * self.worth + drift * fresh.worth,
            kept * self.fame + drift * fresh.fame,
        )

    def joined(self, others: _Items) -> _Items:
        return _Items(
            np.concatenate([self.traits, others.traits]),
            np.concatenate([self.worth, others.worth]),
            np.concatenate([self.fame, others.fame]),
        )
