"""The sums of an earlier run beside those of this one, each as far as it tells. Public: sees releases alone.

Model: what the earlier run's people take is a multiple of what this run's people take, and a drift that is like noise.

    own = G + E,   earlier = G / a + D + E'

Sizes of both sums and their inner product, less what known noise adds to them, give a and the size of D. So nobody
says whether the people are the same or others, more or fewer, or whether the earlier model is about these items at all.
What is added up is the average of `own` and of `a` times `earlier` by the inverse of their variances. A sum that has
nothing to do with this one has a large drift, and adds nothing. Where this run is mostly noise it cannot tell, and what
is as popular here as there is believed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.methods.ease.public.head import popularity
from discreet.model.start import EarlierSums
from discreet.privacy.gaussian.pairs import NoisyCounts, NoisyPairs
from discreet.types import Array, Bools

__all__ = ["added_counts", "added_pairs"]


class _Shares(NamedTuple):
    """What each sum is multiplied by before they are added, in this run's people, and the noise that comes out."""

    earlier: float
    own: float
    sigma: float


def added_counts(
    earlier: EarlierSums | None, counts: NoisyCounts, pair_sigma: float
) -> tuple[NoisyCounts, float]:
    """Both runs' counts, and the noise that a pair of both may be expected to have."""
    if earlier is None:
        return counts, pair_sigma
    sums, known = earlier.sums, earlier.known
    noise = sums.counts_sigma, counts.sigma
    shares = _shares(earlier.counts[known], counts.counts[known], *noise, popularity(counts).weight)
    both = _added(earlier.counts, counts.counts, known, shares, counts.sigma)
    users = shares.earlier * sums.users + shares.own * counts.users
    users_sigma = math.hypot(shares.earlier * sums.users_sigma, shares.own * counts.users_sigma)
    pair_sigma = math.hypot(shares.earlier * sums.sigma, shares.own * pair_sigma)
    return NoisyCounts(both, shares.sigma, users, users_sigma), pair_sigma


def added_pairs(
    earlier: EarlierSums | None, counts: NoisyCounts, head: npt.NDArray[np.int32], pairs: NoisyPairs
) -> tuple[NoisyCounts, NoisyPairs]:
    """Both runs' pairs, with counts (already of both) at the same scale.

    Nobody counts for more than one; but beside a sum without noise it is the earlier people who count for one.
    """
    if earlier is None:
        return counts, pairs
    told, known = earlier.pairs_of(head)
    noise = earlier.sums.sigma, pairs.sigma
    shares = _shares(told[known], pairs.pairs[known], *noise, popularity(counts).weight ** 2)
    both = _added(told, pairs.pairs, known, shares, pairs.sigma)
    exact = pairs.sigma == 0.0 and shares.earlier > 0.0
    unit = 1.0 / (shares.earlier if exact else max(shares.earlier, shares.own))
    people, sigma, users, users_sigma = counts
    counts = NoisyCounts(unit * people, unit * sigma, unit * users, unit * users_sigma)
    return counts, NoisyPairs(unit * both, unit * shares.sigma)


def _shares(earlier: Array, own: Array, earlier_sigma: float, sigma: float, each: float) -> _Shares:
    """How both are weighed, from what both know; `each` is what one person usually adds to a number."""
    size, earlier = len(own), earlier.astype(np.float64)  # differences of large sums of squares
    alike = float(np.vdot(earlier, own))
    told = float(np.vdot(earlier, earlier)) - size * earlier_sigma**2
    if alike <= 0.0 or told <= 0.0:
        return _Shares(0.0, 1.0, sigma)
    multiple, square = alike / told, float(np.vdot(own, own))
    # A sum without noise still is of some people only, and has the noise of chance where it has something.
    noise = sigma**2 if sigma > 0.0 else each * square / float(own.sum())
    drift = (square - multiple * alike) / size - noise
    # A drift that cannot be told from none is as large as it may be.
    drift = max(drift, noise * math.sqrt(2.0 / size))
    variance = multiple**2 * earlier_sigma**2 + drift
    share = noise / (noise + variance)
    left = math.hypot(share * multiple * earlier_sigma, (1.0 - share) * sigma)
    return _Shares(share * multiple, 1.0 - share, left)


def _added(
    earlier: Array, own: Array, known: Bools, shares: _Shares, sigma: float
) -> npt.NDArray[np.float64]:
    """The sum; what this run alone knows is made smaller, so that its noise is that of the rest."""
    alone = shares.sigma / sigma if sigma > 0.0 else shares.own
    added: npt.NDArray[np.float64] = np.where(known, shares.earlier * earlier + shares.own * own, alone * own)
    return added
