"""Synthetic data: the worlds of the papers, and a market with the skew of real data.

``rng`` is a seed, a `numpy.random.Generator`, or None for a fresh one; ``rating_range`` is public. Distinct items are
drawn in time proportional to what is drawn, never users times items; the inner loops are compiled
(:mod:`discreet.kernels.draws`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.catalogue import Catalogue
from discreet.catalogue.columns import check_range
from discreet.data.ratings import Ratings
from discreet.data.rows import arrange
from discreet.data.splits import Rng
from discreet.errors import SettingsInvalid
from discreet.types import Floats

__all__ = [
    "MOST_SHARE",
    "activity",
    "draw_weighted",
    "factors",
    "items_of",
    "low_rank",
    "market",
    "moods_of",
    "most_items",
    "offsets_of",
    "on_scale",
    "popularity",
    "stars_of",
]

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

# How active users are and how popular items.
_HEAD, _HEAD_SHARE = 0.2, 0.85
_ACTIVITY_SPREAD = 1.0
_FLAT_HEAD = 0.02
_GROUPS = 32

# Of the rank-5 world: 20 ln(n) observed ratings a user on average, and a tenth as many to test on.
_OBSERVED, _TEST_SHARE = 20.0, 0.1


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
    stars; and people tend to rate what they like. Items are in no order of popularity.

    Parameters
    ----------
    n_users, n_items, n_ratings
        Size; between one rating and 0.3 times `n_items` ratings for each user.
    rating_range
        The scale, in eight equal steps: half stars from 1 to 5.
    lift
        How much taste decides what people rate: an item's chance is multiplied by ``exp(lift * taste)``, with a taste
        of about -2 to 2. At the default popularity alone ranks about as well as anything can.
    """
    low_high = check_range(rating_range, rated=True)
    if not 0.0 <= lift <= 5.0:
        raise SettingsInvalid(f"lift must lie between 0 and 5, not {lift}")
    most = most_items(n_users, n_items, n_ratings)
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
    values, listed = on_scale(stars, rating_range), items_of(n_items, n_items)
    return Ratings(indptr, items, values, np.arange(1, n_users + 1), listed, low_high)


def most_items(n_users: int, n_items: int, n_ratings: int) -> int:
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


def activity(n_users: int, n_ratings: int, most: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Ratings of each user: lognormal, between 1 and `most`, with exactly the given total."""
    appetite = rng.lognormal(0.0, _ACTIVITY_SPREAD, n_users)
    low, high = 0.0, n_ratings / appetite.min()
    for _ in range(100):
        scale = (low + high) / 2
        if np.clip(scale * appetite, 1, most).sum() < n_ratings:
            low = scale
        else:
            high = scale
    counts = np.floor(np.clip(low * appetite, 1, most)).astype(np.int64)
    room = rng.permutation(np.flatnonzero(counts < most))
    counts[room[: n_ratings - counts.sum()]] += 1
    return counts


def popularity(
    counts: npt.NDArray[np.int64], n_items: int, lift: float, head_share: float = _HEAD_SHARE
) -> Floats:
    """Weights of the items, from the most to the least popular, such that the head has its share of ratings.

    The weights follow a Zipf-Mandelbrot law. Its exponent is found by bisection, because users who rate an
    item at most once flatten the head, the more the more they rate. Where users rate so much that the head
    cannot have the share, it has as much as it can.
    """
    groups = [group for group in np.array_split(np.sort(counts), _GROUPS) if len(group)]
    sizes = np.array([len(group) for group in groups], dtype=float)
    means = np.array([group.mean() for group in groups])
    head = max(1, round(_HEAD * n_items))
    low, high = 0.0, 16.0
    for _ in range(24):
        exponent = (low + high) / 2
        weights = (1.0 + np.arange(n_items) / (1.0 + _FLAT_HEAD * n_items)) ** -exponent
        expected = sizes @ _inclusion(weights, means, lift)
        if expected[:head].sum() < head_share * expected.sum():
            low = exponent
        else:
            high = exponent
    return weights


def _inclusion(weights: Floats, counts: Floats, lift: float) -> Floats:
    """Chance that a user with so many ratings rates each item (users x items, for a few kinds of user).

    In a race where item j arrives after an exponential time of rate w_j, the first c arrivals are c draws
    without replacement; item j is among them with chance 1 - exp(-w_j t), where t makes the chances add up to
    c. Taste multiplies the rates by a lognormal factor, averaged over by three-point quadrature.
    """
    nodes, shares = np.array([-(3**0.5), 0.0, 3**0.5]), np.array([1 / 6, 2 / 3, 1 / 6])
    rates = np.outer(np.exp(lift * nodes), weights)
    time = counts / (shares @ rates.sum(axis=1))
    for _ in range(50):  # Newton from below on a concave function: never overshoots
        absent = np.exp(-time[:, None, None] * rates)
        missing = counts - (1 - absent).sum(axis=2) @ shares
        if (missing <= 1e-6 * counts).all():
            break
        time = time + missing / ((absent * rates).sum(axis=2) @ shares)
    chances: Floats = np.einsum("gkj,k->gj", 1 - absent, shares)
    return chances


def draw_weighted(
    rng: np.random.Generator,
    indptr: npt.NDArray[np.int64],
    weights: Floats,
    tastes: Floats,
    traits: Floats,
    lift: float,
) -> npt.NDArray[np.int32]:
    """For every user, distinct items drawn one after the other; the result rises within each user.

    An item's chance at each draw is proportional to ``weights[j] * exp(lift * t)`` among the items not yet
    drawn, where ``t`` is ``tastes[i] . traits[j]`` clipped to -2 and 2. Draws go through an alias table with
    rejection; a user who keeps hitting what was drawn before gets the rest from a race, which has the same
    distribution.
    """
    n_users, n_items = len(indptr) - 1, len(weights)
    items, filled = kernels.draw_rejecting(rng, indptr, *_alias_table(weights), tastes, traits, lift)
    for user in np.flatnonzero(filled < indptr[1:]):
        pull = weights * np.exp(lift * np.clip(traits @ tastes[user], -2.0, 2.0))
        drawn, end = items[indptr[user] : filled[user]], indptr[user + 1]
        items[filled[user] : end] = _race(rng, pull, drawn, int(end - filled[user]))
    users = np.repeat(np.arange(n_users), np.diff(indptr))
    keys = np.sort(users * n_items + items)
    return (keys - users * n_items).astype(np.int32)


def _race(
    rng: np.random.Generator, pull: Floats, drawn: npt.NDArray[np.int32], count: int
) -> npt.NDArray[np.int64]:
    """The first arrivals, when every item not yet drawn comes after an exponential time of rate `pull`."""
    arrival = rng.standard_exponential(len(pull)) / pull
    arrival[drawn] = np.inf
    return np.argsort(arrival)[:count]


def _alias_table(weights: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Walker's table: a uniform column, kept with probability `share` and else exchanged for `other`."""
    share = weights * (len(weights) / weights.sum())
    other = np.arange(len(weights))
    poor, rich = np.flatnonzero(share < 1.0).tolist(), np.flatnonzero(share >= 1.0).tolist()
    while poor and rich:
        low, high = poor.pop(), rich[-1]
        other[low] = high
        share[high] -= 1.0 - share[low]
        if share[high] < 1.0:
            poor.append(rich.pop())
    share[[*poor, *rich]] = 1.0  # what is left differs from 1 by rounding only
    return share, other
