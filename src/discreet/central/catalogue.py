"""A catalogue for ratings that came without one, paid for."""

from __future__ import annotations

import numpy as np

from discreet.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.errors import CatalogueMissing
from discreet.privacy.blocks import Pattern
from discreet.privacy.discovery import MOST_ITEMS, discover
from discreet.privacy.gate import Gate

__all__ = ["discover_catalogue"]


def discover_catalogue(gate: Gate, ratings: Ratings, share: float, rng: np.random.Generator) -> Ratings:
    """The same ratings over the items that many users share; the others are dropped.

    Parameters
    ----------
    gate
        Charged with ``share`` of mu^2 and of delta.
    ratings
        Over provisional items: exactly those seen, which nobody else may learn.
    share
        Of the budget.
    rng
        Chooses which items a user with very many votes for.
    """
    delta = share * gate.ledger.budget.delta
    mu = gate.ledger.budget.mu_for(delta) * float(np.sqrt(share))
    chosen = discover(gate, _capped(ratings, rng), mu=mu, delta=delta)
    if len(chosen) == 0:
        raise CatalogueMissing(
            "no item was shared by enough users to be published within this part of the budget; "
            "give a public catalogue, raise the share for --discover-items, or raise epsilon"
        )
    assert ratings.provisional_ids is not None
    return ratings.with_catalogue(Catalogue(np.sort(ratings.provisional_ids[chosen])), unknown_items="drop")


def _capped(ratings: Ratings, rng: np.random.Generator) -> Pattern:
    counts = np.diff(ratings.indptr)
    if counts.max(initial=0) <= MOST_ITEMS:
        return Pattern(ratings.indptr, ratings.items, ratings.n_items)
    keep = np.ones(len(ratings.items), dtype=bool)
    for user in np.flatnonzero(counts > MOST_ITEMS):
        dropped = rng.choice(counts[user], counts[user] - MOST_ITEMS, replace=False)
        keep[ratings.indptr[user] + dropped] = False
    kept = ratings.keep(keep)
    return Pattern(kept.indptr, kept.items, kept.n_items)
