"""Which items pairs are counted of: those whose pairs would stand out of the noise. Public."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.privacy.gaussian.pairs import NoisyCounts
from discreet.types import Floats

__all__ = ["DEVIATIONS", "LEAST_HEAD", "Popularity", "choose_head", "popularity"]

DEVIATIONS = 2.0
"""How many standard deviations of its noise a number must be from 0 to be taken for one that is not."""
LEAST_HEAD = 100
# Without noise, a count below which an item is as good as not taken.
_LEAST = 0.01


@dataclass(frozen=True)
class Popularity:
    """What counts say of each item.

    Parameters
    ----------
    counts
        Of how much each item was taken, at least one deviation of the noise.
    mass
        Sum over the item's users of one over the number of their items: its diagonal in the matrix of pairs.
    weight
        Mass of an item for one count of it: one over the root of the usual number of items a user has.
    """

    counts: Floats
    mass: Floats
    weight: float


def popularity(noisy: NoisyCounts) -> Popularity:
    """Counts, and the masses that follow from them and from the number of users.

    Everybody's row has length 1, so a count is a sum of one over the root of the number of items, and all masses
    together are the number of users. The sum of all counts is not cut off below: items that nobody takes add noise to
    it, but nothing on the average.
    """
    total = max(float(noisy.counts.sum()), DEVIATIONS * noisy.sigma * np.sqrt(len(noisy.counts)))
    users = max(noisy.users, DEVIATIONS * noisy.users_sigma)
    weight = min(users / total, 1.0)
    return Popularity(
        np.maximum(noisy.counts, max(noisy.sigma, _LEAST)), weight * np.maximum(noisy.counts, 0.0), weight
    )


def choose_head(
    noisy: NoisyCounts, pair_sigma: float, most: int, least: int = LEAST_HEAD
) -> npt.NDArray[np.int32]:
    """Positions, ascending, of the most popular items: those whose pairs would stand out of the noise.

    Two items of mass d that are no more alike than usual are taken together about d^2 / t times, where t is the mass of
    the item that somebody has on the average. That must be two deviations of the noise of a pair; and a mass must be
    beyond its own noise. More items would take from the weight that each person has for the pairs of the others.

    At least `least` items, as far as there are, and at most `most`.
    """
    popular = popularity(noisy)
    own = popular.weight * noisy.sigma
    masses = popular.weight * noisy.counts
    whole = max(float(masses.sum()), own, 1e-30)
    typical = max(float(masses @ masses) - len(masses) * own**2, 0.0) / whole
    bar = max(math.sqrt(DEVIATIONS * pair_sigma * typical), own)
    wanted = int(np.count_nonzero(popular.mass > bar))
    size = min(max(wanted, least), most, len(noisy.counts))
    order = np.argsort(-noisy.counts, kind="stable")
    return np.sort(order[:size]).astype(np.int32)
