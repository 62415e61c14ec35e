"""A synthetic market with skewed popularity and activity, as in shops and film sites, at any size."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.catalogue import Catalogue
from discreet.data.checks import check_range
from discreet.data.ratings import Ratings
from discreet.data.splits import Rng
from discreet.data.synthetic._popularity import activity, popularity
from discreet.data.synthetic._sampling import draw_weighted
from discreet.errors import SettingsInvalid
from discreet.types import Floats

__all__ = ["MOST_SHARE", "factors", "items_of", "market", "moods_of", "offsets_of", "on_scale", "stars_of"]


# In stars of a five-star scale; together they give the error levels of film ratings: about 1.0 for a user's
# own mean, 0.9 with item offsets, 0.8 with taste.
_MEAN = 3.1
_USER_SPREAD = 0.45
_ITEM_SPREAD = 0.45
_FAME_SPREAD = 0.15
_TASTE_SPREAD = 0.6
_NOISE = 0.8
_RANK = 8
_DECAY = 0.8
MOST_SHARE = 0.3
"""Of the catalogue: more than this nobody rates."""


def market(
    n_users: int = 2_000,
    n_items: int = 500,
    n_ratings: int = 100_000,
    rng: Rng = None,
    rating_range: tuple[float, float] = (1.0, 5.0),
    lift: float = 0.4,
) -> Ratings:
    """Ratings with the shape of a real market.

    The number of ratings of a user is lognormal (from one to three tenths of the catalogue). Items follow a
    Zipf law in which the most popular fifth has about 85 % of the ratings. A rating is the sum of a user's
    offset, an item's offset (famous items are liked a little more), a rank-8 taste and noise, rounded to half
    stars; and people tend to rate what they like.

    Parameters
    ----------
    n_users, n_items, n_ratings
        Size; between one rating and 0.3 times `n_items` ratings for each user.
    rng
        Seed, generator or None.
    rating_range
        The scale, in eight equal steps: half stars from 1 to 5.
    lift
        How much taste decides what people rate: an item's chance is multiplied by ``exp(lift * taste)``, with a taste
        of about -2 to 2. At the default popularity alone ranks about as well as anything can.

    Returns
    -------
    Ratings
        With the catalogue ``item-0001``, ``item-0002``, ... in no order of popularity, unrated items
        included.
    """
    low_high = check_range(rating_range, rated=True)
    most = max(1, int(MOST_SHARE * n_items))
    if not 0.0 <= lift <= 5.0:
        raise SettingsInvalid(f"lift must lie between 0 and 5, not {lift}")
    if not (n_users >= 1 and n_items >= 1 and n_users <= n_ratings <= n_users * most):
        raise SettingsInvalid(
            f"{n_ratings} ratings do not fit {n_users} users and {n_items} items; for these, ask for between "
            f"{n_users} and {n_users * most}"
        )
    generator = np.random.default_rng(rng)
    counts = activity(n_users, n_ratings, most, generator)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    weights = generator.permutation(popularity(counts, n_items, lift))
    tastes, traits = factors(n_users, generator), factors(n_items, generator)
    items = draw_weighted(generator, indptr, weights, tastes, traits, lift)
    users = np.repeat(np.arange(n_users, dtype=np.int32), counts)
    moods = moods_of(n_users, generator)
    offsets = offsets_of(weights, generator.standard_normal(n_items))
    stars = stars_of(users, items, tastes, traits, moods, offsets, generator)
    return Ratings(
        indptr,
        items,
        on_scale(stars, rating_range),
        np.arange(1, n_users + 1),
        items_of(n_items, n_items),
        low_high,
    )


def factors(rows: int, rng: np.random.Generator) -> Floats:
    """Factors whose products have variance 1, the first dimensions carrying most of it."""
    spectrum = _DECAY ** np.arange(_RANK)
    spectrum /= np.sqrt((spectrum**2).sum())
    drawn: Floats = rng.standard_normal((rows, _RANK)) * np.sqrt(spectrum)
    return drawn


def moods_of(n_users: int, rng: np.random.Generator) -> Floats:
    """How kindly each user rates."""
    return _USER_SPREAD * rng.standard_normal(n_users)


def offsets_of(weights: Floats, worth: Floats) -> Floats:
    """How well each item is liked: by its popularity, and by what it is worth beside (standard normal)."""
    fame = np.log(weights)
    fame -= fame.mean()
    offsets: Floats = _ITEM_SPREAD * worth + _FAME_SPREAD * fame / max(fame.std(), 1e-9)
    return offsets


def stars_of(
    users: npt.NDArray[np.int32],
    items: npt.NDArray[np.int32],
    tastes: Floats,
    traits: Floats,
    moods: Floats,
    offsets: Floats,
    rng: np.random.Generator,
) -> Floats:
    """Ratings before they are rounded."""
    stars = _MEAN + _NOISE * rng.standard_normal(len(items))
    stars += moods[users]
    stars += offsets[items]
    for factor in range(_RANK):  # one factor at a time: ratings x rank would be the largest array of all
        stars += _TASTE_SPREAD * tastes[users, factor] * traits[items, factor]
    return stars


def on_scale(stars: Floats, rating_range: tuple[float, float]) -> Floats:
    """Half stars, as the rating range has them."""
    low, high = rating_range
    steps = np.clip(np.rint(2 * (stars - 1)), 0, 8)
    scaled: Floats = low + steps * ((high - low) / 8)
    return scaled


def items_of(n_items: int, most: int) -> Catalogue:
    """The catalogue ``item-0001``, ``item-0002``, ..., with room for the number ``most``."""
    width = max(4, len(str(most)))
    return Catalogue([f"item-{number:0{width}d}" for number in range(1, n_items + 1)])
