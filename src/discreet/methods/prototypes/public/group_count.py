"""How many groups of users a silo looks for, from what it has released of its items. Public."""

from __future__ import annotations

import numpy as np

from discreet.methods.prototypes.public.evidence import typical_ratings
from discreet.types import Floats

__all__ = ["count_groups"]

# Groups are told apart by what users have rated in common. Where a user has rated less than this share of the
# catalogue, groups follow the scatter of single ratings.
_DENSE = 0.2
# How far a group's mean of an item is expected to lie from that of all, in half ranges: beyond the noise or not?
_DIFFERENCE = 0.125
_MOST = 8


def count_groups(weights: Floats, sigma: float, users: float, mu: float) -> int:
    """The most groups whose differences from all would stand out of the noise at `mu`; 1 where two would not.

    Parameters
    ----------
    weights, sigma
        Noisy weight of each item, and the scale of its noise.
    users
        Noisy number of users.
    mu
        Of the release of the groups' values.
    """
    if typical_ratings(weights, users) < _DENSE * len(weights):
        return 1
    usual = np.sqrt(max(float((weights**2).mean()) - sigma**2, 0.0))
    return int(np.clip(_DIFFERENCE * mu * usual, 1, _MOST))
