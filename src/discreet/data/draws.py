"""Draws behind the synthetic markets: how active users are, how popular items, and who takes what.

Distinct items are drawn in time proportional to what is drawn, never users times items; the inner loops are compiled
(:mod:`discreet.kernels.draws`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet import kernels
from discreet.types import Floats

__all__ = ["activity", "draw_weighted", "popularity"]

Items = npt.NDArray[np.int32]

_HEAD, _HEAD_SHARE = 0.2, 0.85
_ACTIVITY_SPREAD = 1.0
_FLAT_HEAD = 0.02
_GROUPS = 32


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
) -> Items:
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


def _race(rng: np.random.Generator, pull: Floats, drawn: Items, count: int) -> npt.NDArray[np.int64]:
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
