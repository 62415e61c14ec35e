"""How active users and how popular items are in the market."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.types import Floats

__all__ = ["HEAD", "HEAD_SHARE", "activity", "popularity"]


HEAD = 0.2
HEAD_SHARE = 0.85
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
    counts: npt.NDArray[np.int64], n_items: int, lift: float, head_share: float = HEAD_SHARE
) -> Floats:
    """Weights of the items, from the most to the least popular, such that the head has its share of ratings.

    The weights follow a Zipf-Mandelbrot law. Its exponent is found by bisection, because users who rate an
    item at most once flatten the head, the more the more they rate. Where users rate so much that the head
    cannot have the share, it has as much as it can.
    """
    groups = [group for group in np.array_split(np.sort(counts), _GROUPS) if len(group)]
    sizes = np.array([len(group) for group in groups], dtype=float)
    means = np.array([group.mean() for group in groups])
    head = max(1, round(HEAD * n_items))
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
