"""Choosing a catalogue from the data, at a price.

Without a public item list the mere presence of an item in the output could reveal the one user who rated it.
Here every user votes for their items with total energy 1, the votes pass the gate, and an item is kept only if
its noisy vote exceeds a threshold that the items of a single user would pass with probability at most delta. Items
that nobody votes for are not in the release at all. The proof note is ``proofs/discovery.md``.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtri_exp

from discreet.privacy.gaussian.blocks import VOTE_MARGIN, WEIGHT, Pattern
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.item_blocks import ItemWeight

__all__ = ["MOST_ITEMS", "discover", "threshold"]

MOST_ITEMS = 1000
"""A user votes for at most this many items (public)."""


def discover(
    gate: Gate, pattern: Pattern, priority: npt.NDArray[np.uint64], *, mu: float, delta: float
) -> npt.NDArray[np.int64]:
    """Indices of the items that many users share.

    Notes
    -----
    **Privacy**. Any two items stand in the same order of ``priority`` whoever is in the data, and a user with more than
    :data:`MOST_ITEMS` items votes for the first of them: no other user's votes change by it. ``delta`` pays for as many
    items of one user as that user votes for. So an item has noise, and with it a chance, only if somebody votes for it:
    not because it was seen in a row that does not count.
    """
    pattern, voted = _voted(_capped(pattern, priority))
    votes = np.zeros(pattern.n_users)
    np.divide(1.0, np.sqrt(pattern.counts), out=votes, where=pattern.counts > 0)
    weights = np.trunc(votes * WEIGHT * VOTE_MARGIN).astype(np.int32)
    block = ItemWeight("votes", WEIGHT, pattern, np.ones(pattern.n_items), weights)
    released = gate.release("catalogue: items chosen by noisy votes", [block], mu=mu, delta=delta)["votes"]
    return voted[released[: len(voted)] > threshold(mu, delta) * WEIGHT]


def _capped(pattern: Pattern, priority: npt.NDArray[np.uint64]) -> Pattern:
    heavy = np.flatnonzero(pattern.counts > MOST_ITEMS)
    if len(heavy) == 0:
        return pattern
    keep = np.ones(len(pattern.items), dtype=bool)
    for user in heavy:
        start, stop = pattern.indptr[user], pattern.indptr[user + 1]
        order = np.argsort(priority[pattern.items[start:stop]], kind="stable")
        keep[start + order[MOST_ITEMS:]] = False
    kept = np.concatenate([[0], np.cumsum(keep)])
    return Pattern(kept[pattern.indptr], pattern.items[keep], pattern.n_items)


def _voted(pattern: Pattern) -> tuple[Pattern, npt.NDArray[np.int64]]:
    """The same votes over the items that have one, and which these are; never over none, as that is charged too."""
    voted = np.unique(pattern.items).astype(np.int64)
    items = np.searchsorted(voted, pattern.items).astype(np.int32)
    return Pattern(pattern.indptr, items, max(len(voted), 1)), voted


def threshold(mu: float, delta: float) -> float:
    """Smallest vote that an item needs to be kept, in units of one user's whole vote.

    A user alone with k items gives each at most 1/sqrt(k). All k stay below t with probability
    Phi((t - 1/sqrt(k)) mu)^k; t is the largest value that any k up to :data:`MOST_ITEMS` needs for this to be at
    least 1 - delta, rounded up by one rounding step of the noise.
    """
    counts = np.arange(1, MOST_ITEMS + 1)
    per_item = math.log1p(-delta) / counts
    needed = 1.0 / np.sqrt(counts) + ndtri_exp(per_item) / mu
    bound = float(needed.max()) * (1.0 + 1e-9) + 2.0 / WEIGHT
    assert bool(np.all(counts * log_ndtr((bound - 1.0 / np.sqrt(counts)) * mu) >= math.log1p(-delta)))
    return bound
