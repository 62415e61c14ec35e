"""Synthetic data: the worlds of the papers, and a market with the skew of real data.

``rng`` is a seed, a `numpy.random.Generator`, or None for a fresh one; ``rating_range`` is public.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.catalogue import Catalogue
from discreet.data.arrays import arrange
from discreet.data.checks import check_range
from discreet.data.draws import activity, draw_weighted, popularity
from discreet.data.ratings import Ratings
from discreet.data.splits import Rng
from discreet.errors import SettingsInvalid
from discreet.types import Floats

__all__ = ["drifting_market", "low_rank", "market", "poisson_silos"]

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

# Of the rank-5 world: 20 ln(n) observed ratings a user on average, and a tenth as many to test on.
_OBSERVED, _TEST_SHARE = 20.0, 0.1
_BLOCK = 4_096


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
    if not 0.0 <= lift <= 5.0:
        raise SettingsInvalid(f"lift must lie between 0 and 5, not {lift}")
    most = _most_items(n_users, n_items, n_ratings)
    generator = np.random.default_rng(rng)
    counts = activity(n_users, n_ratings, most, generator)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    weights = generator.permutation(popularity(counts, n_items, lift))
    tastes, traits = factors(n_users, generator), factors(n_items, generator)
    items = draw_weighted(generator, indptr, weights, tastes, traits, lift)
    users = np.repeat(np.arange(n_users, dtype=np.int32), counts)
    moods = _moods_of(n_users, generator)
    offsets = _offsets_of(weights, generator.standard_normal(n_items))
    stars = _stars_of(users, items, tastes, traits, moods, offsets, generator)
    values, listed = _on_scale(stars, rating_range), items_of(n_items, n_items)
    return Ratings(indptr, items, values, np.arange(1, n_users + 1), listed, low_high)


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
    """Ratings of one market in several months, each with the shape of :func:`market`.

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
        As in :func:`market`.

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
    most = _most_items(n_users, n_items, n_ratings)
    generator = np.random.default_rng(rng)
    ids, tastes = np.arange(1, n_users + 1), factors(n_users, generator)
    moods = _moods_of(n_users, generator)
    items = _Items.drawn(n_items, generator)
    found = []
    for month in range(months):
        if month:
            items = items.moved(drift, generator).joined(_Items.drawn(new_items, generator))
            leaving = generator.permutation(n_users)[: n_users - round(staying * n_users)]
            ids, tastes, moods = ids.copy(), tastes.copy(), moods.copy()
            ids[leaving] = ids.max() + 1 + np.arange(len(leaving))
            tastes[leaving] = factors(len(leaving), generator)
            moods[leaving] = _moods_of(len(leaving), generator)
        counts = activity(n_users, n_ratings, most, generator)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        # The same law of popularity every month; who is where in it drifts.
        weights = np.empty(len(items.fame))
        weights[np.argsort(-items.fame)] = popularity(counts, len(items.fame), lift)
        taken = draw_weighted(generator, indptr, weights, tastes, items.traits, lift)
        users = np.repeat(np.arange(n_users, dtype=np.int32), counts)
        offsets = _offsets_of(weights, items.worth)
        stars = _stars_of(users, taken, tastes, items.traits, moods, offsets, generator)
        listed = items_of(len(weights), n_items + (months - 1) * new_items)
        found.append(Ratings(indptr, taken, _on_scale(stars, rating_range), ids, listed, low_high))
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


def _most_items(n_users: int, n_items: int, n_ratings: int) -> int:
    """How many items a user may rate; refuses sizes that do not fit."""
    most = max(1, int(MOST_SHARE * n_items))
    if not (n_users >= 1 and n_items >= 1 and n_users <= n_ratings <= n_users * most):
        raise SettingsInvalid(
            f"{n_ratings} ratings do not fit {n_users} users and {n_items} items; for these, ask for between "
            f"{n_users} and {n_users * most}"
        )
    return most


def factors(rows: int, rng: np.random.Generator) -> Floats:
    """Factors whose products have variance 1, the first dimensions carrying most of it."""
    spectrum = _DECAY ** np.arange(_RANK)
    spectrum /= np.sqrt((spectrum**2).sum())
    drawn: Floats = rng.standard_normal((rows, _RANK)) * np.sqrt(spectrum)
    return drawn


def _moods_of(n_users: int, rng: np.random.Generator) -> Floats:
    """How kindly each user rates."""
    return _USER_SPREAD * rng.standard_normal(n_users)


def _offsets_of(weights: Floats, worth: Floats) -> Floats:
    """How well each item is liked: by its popularity, and by what it is worth beside (standard normal)."""
    fame = np.log(weights)
    fame -= fame.mean()
    offsets: Floats = _ITEM_SPREAD * worth + _FAME_SPREAD * fame / max(fame.std(), 1e-9)
    return offsets


def _stars_of(
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


def _on_scale(stars: Floats, rating_range: tuple[float, float]) -> Floats:
    """Half stars, as the rating range has them."""
    low, high = rating_range
    steps = np.clip(np.rint(2 * (stars - 1)), 0, 8)
    scaled: Floats = low + steps * ((high - low) / 8)
    return scaled


def items_of(n_items: int, most: int) -> Catalogue:
    """The catalogue ``item-0001``, ``item-0002``, ..., with room for the number ``most``."""
    width = max(4, len(str(most)))
    return Catalogue([f"item-{number:0{width}d}" for number in range(1, n_items + 1)])


def low_rank(
    n_users: int,
    n_items: int = 1_000,
    rank: int = 5,
    rng: Rng = None,
    rating_range: tuple[float, float] = (-12.0, 12.0),
) -> tuple[Ratings, Ratings]:
    """The product of two random orthogonal matrices, seen without noise at random places.

    Each entry is observed independently with probability ``20 ln(n) / m``. The matrix is scaled so that the
    observations have standard deviation 1: predicting 0 everywhere has an error of 1.

    Parameters
    ----------
    n_users, n_items, rank
        Size of the matrix and its rank.
    rating_range
        Public bound; values beyond it are clipped to it. The default is so wide that none is: in a world without noise
        the few users with a clipped value would make up nearly all of a good model's error.

    Returns
    -------
    train, test
        The observed entries, and about a tenth as many others to test on; the user rows are the same.
    """
    if not (n_users >= 2 and n_items >= 2 and 1 <= rank <= min(n_users, n_items)):
        raise SettingsInvalid(f"no matrix of {n_users} users and {n_items} items has rank {rank}")
    low_high = check_range(rating_range, rated=True)
    generator = np.random.default_rng(rng)
    left, right = _orthogonal(n_users, rank, generator), _orthogonal(n_items, rank, generator)
    chance = min(1.0, _OBSERVED * np.log(n_users) / n_items)
    seen = generator.binomial(n_items, chance, n_users)
    unseen = generator.binomial(n_items - seen, min(1.0, _TEST_SHARE * chance))
    ends = np.cumsum(seen + unseen)
    starts = ends - seen - unseen
    items = kernels.draw_uniform(generator, np.concatenate([[0], ends]), n_items)
    users = np.repeat(np.arange(n_users), seen + unseen)
    tested = np.arange(len(items)) - starts[users] >= seen[users]
    values = np.zeros(len(items))
    for factor in range(rank):  # one at a time, so that no ratings x rank array is needed
        values += left[users, factor] * right[items, factor]
    values = np.clip(values / values[~tested].std(), *rating_range)
    catalogue = Catalogue(np.arange(1, n_items + 1))

    def part(chosen: npt.NDArray[np.bool_]) -> Ratings:
        arrays, _ = arrange(users[chosen], items[chosen].astype(np.int64), values[chosen], n_users, n_items)
        return Ratings(*arrays, np.arange(1, n_users + 1), catalogue, low_high)

    return part(~tested), part(tested)


def _orthogonal(rows: int, columns: int, rng: np.random.Generator) -> Floats:
    basis: Floats = np.linalg.qr(rng.standard_normal((rows, columns)))[0]
    return basis


def poisson_silos(
    n_users: int,
    n_items: int = 500,
    silos: int = 10,
    rank: int = 100,
    rng: Rng = None,
    log_rate_spread: float = 1.0,
    rating_range: tuple[float, float] = (0.0, 50.0),
) -> tuple[Ratings, npt.NDArray[np.int64]]:
    """Poisson counts with a low-rank log-rate, every entry observed, users dealt evenly over silos.

    Parameters
    ----------
    n_users, n_items, silos, rank
        Size; the paper has 100,000 users, 500 items, 10 silos and rank 100.
    log_rate_spread
        Standard deviation of the log-rates. The paper takes ``exp(U V^T)`` with standard normal factors of
        rank 100, whose log-rates have a standard deviation of 10: rates beyond 1e17, which no count can be
        drawn from or learned. (Its appendix B.1 leaves the exponential out, which gives negative rates.) The
        factors here are the same, scaled so that the spread is this.
    rating_range
        Public bound; larger counts are clipped to it.

    Returns
    -------
    ratings, silo
        The counts, and the silo (from 0) of each user: ``ratings.take_users(silo == 3)`` is what silo 3
        holds.
    """
    if not (n_users >= silos >= 1 and n_items >= 1 and rank >= 1):
        raise SettingsInvalid(
            f"{n_users} users cannot be dealt over {silos} silos, {n_items} items, rank {rank}"
        )
    low_high = check_range(rating_range, rated=True)
    generator = np.random.default_rng(rng)
    scale = log_rate_spread / np.sqrt(rank)
    traits = generator.standard_normal((n_items, rank)) * scale
    values = np.empty((n_users, n_items))
    for start in range(0, n_users, _BLOCK):
        tastes = generator.standard_normal((min(_BLOCK, n_users - start), rank))
        values[start : start + _BLOCK] = generator.poisson(np.exp(tastes @ traits.T))
    silo = generator.permutation(np.arange(n_users) % silos)
    ratings = Ratings(
        np.arange(n_users + 1) * n_items,
        np.tile(np.arange(n_items, dtype=np.int32), n_users),
        np.clip(values, *rating_range, out=values).ravel(),
        np.arange(1, n_users + 1),
        Catalogue(np.arange(1, n_items + 1)),
        low_high,
    )
    return ratings, silo
