"""Choosing a catalogue from the ratings where none is public; charged to the budget."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.catalogue import Catalogue, infer_ids
from discreet.data.ratings import Ratings
from discreet.errors import CatalogueMissing
from discreet.privacy.gaussian.blocks import Pattern
from discreet.privacy.gaussian.discovery import discover
from discreet.privacy.gaussian.gate import Gate

__all__ = ["discover_catalogue"]


def discover_catalogue(gate: Gate, ratings: Ratings, share: float) -> Ratings:
    """The same ratings over the items that many users share; the others are dropped.

    Parameters
    ----------
    gate
        Charged with ``share`` of mu^2 and of delta.
    ratings
        Over provisional items: exactly those seen, which are private.
    share
        Of the budget.
    """
    assert ratings.provisional_ids is not None
    delta = share * gate.ledger.budget.delta
    mu = gate.ledger.budget.mu_for(delta) * float(np.sqrt(share))
    names = pl.Series(values=[str(item) for item in ratings.provisional_ids], dtype=pl.String)
    pattern = Pattern(ratings.indptr, ratings.items, ratings.n_items)
    chosen = discover(gate, pattern, _priorities(names), mu=mu, delta=delta)
    if len(chosen) == 0:
        raise CatalogueMissing(
            "no item was shared by enough users to be published within this part of the budget; "
            "give a public catalogue, raise the share for --discover-items, or raise epsilon"
        )
    # Numbers or text is decided by the chosen ids alone: an id that was not chosen must not show in the type.
    return ratings.with_catalogue(Catalogue(infer_ids(names[chosen]).sort()))


def _priorities(names: pl.Series) -> npt.NDArray[np.uint64]:
    """Ranks by a hash of the name: wide enough that no two names are known to share one, and places never decide."""
    digests = b"".join(hashlib.blake2b(name.encode(), digest_size=16).digest() for name in names)
    halves = np.frombuffer(digests, dtype=np.uint64).reshape(-1, 2)
    ranks = np.empty(len(halves), dtype=np.uint64)
    ranks[np.lexsort((halves[:, 1], halves[:, 0]))] = np.arange(len(halves), dtype=np.uint64)
    return ranks
