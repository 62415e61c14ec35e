"""Popularity skew, and the two ways the DPALS paper samples a user's ratings (section 5.1, algorithm 2)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.data.ratings import Ratings
from discreet.methods.shared.private import keep_lowest, sample_uniform
from discreet.privacy.accounting import epsilon_from
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.blocks import Pattern
from discreet.privacy.gaussian.clipped import ItemCounts
from discreet.privacy.gaussian.gate import Gate, release
from discreet.privacy.ledger import Ledger
from discreet.types import Bools, Floats

Counts = npt.NDArray[np.int64]

MOST = 50
"""k of figure 2: ratings kept of each user."""
SIGMA = 10.0
"""Noise of the counts: table 4's sigma_p for MovieLens 10M at epsilon 10."""
DELTA = 1e-5


def count_epsilon(most: int = MOST, sigma: float = SIGMA) -> float:
    """What one release of noisy counts costs, at `DELTA`: a user moves at most ``most`` counts by one each."""
    return epsilon_from(math.sqrt(most) / sigma, DELTA)


def samples(ratings: Ratings, seed: int, most: int = MOST, sigma: float = SIGMA) -> dict[str, Bools]:
    """Which ratings remain: in the original data, drawn evenly for each user, and each user's rarest items.

    Rare by noisy counts of the even sample, which leave through the gate as in algorithm 2.
    """
    uniform = sample_uniform(ratings, most, seed)
    counts = noisy_counts(ratings.keep(uniform), most, sigma)
    return {
        "original": np.ones(ratings.n_ratings, dtype=bool),
        "uniform": uniform,
        "adaptive": keep_lowest(ratings, counts[ratings.items], most),
    }


def noisy_counts(sample: Ratings, most: int, sigma: float) -> Floats:
    """Users of each item with noise of scale ``sigma``."""
    mu = math.sqrt(most) / sigma
    # A hair more than it costs: budgets are rounded down when they are turned into mu.
    budget = Budget(epsilon_from(mu, DELTA) * 1.001, DELTA)
    pattern = Pattern(sample.indptr, sample.items, sample.n_items)
    counted = release(Gate(Ledger(budget)), "item counts", ItemCounts(pattern.n_items, most), pattern, mu=mu)
    return counted.counts


def item_counts(ratings: Ratings, mask: Bools | None = None) -> Counts:
    """Exact number of ratings of each item, among those the mask keeps."""
    items = ratings.items if mask is None else ratings.items[mask]
    return np.bincount(items, minlength=ratings.n_items)


def top_share(counts: Counts, fraction: float) -> float:
    """Share of all ratings that the most rated ``fraction`` of the items has."""
    ordered = np.sort(counts)[::-1]
    head = max(1, round(fraction * len(ordered)))
    return float(ordered[:head].sum() / max(1, ordered.sum()))
