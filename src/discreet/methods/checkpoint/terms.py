"""What must be the same when a stopped run goes on, in words and digests."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from discreet.data.stored import StoredRatings
from discreet.engines.choice import AnyRatings
from discreet.model import Model
from discreet.privacy.budget import Budget
from discreet.version import __version__

if TYPE_CHECKING:
    from discreet.methods.method import PrivateMethod

__all__ = ["run_terms"]


def run_terms(
    method: PrivateMethod, ratings: AnyRatings, budget: Budget, start: Model | None, *, ledger: bool
) -> dict[str, str]:
    """One entry for each thing a person could have changed meanwhile.

    Notes
    -----
    **Privacy.** The digest of the ratings is private, as the folder it is kept in.
    """
    features = None if ratings.catalogue is None else ratings.catalogue.features
    return {
        "version of discreet": __version__,
        "method": method.method_name(),
        "settings": method.settings.model_dump_json(),
        "budget": f"epsilon {budget.epsilon!r}, delta {budget.delta!r}",
        "catalogue": "found" if ratings.catalogue is None else ratings.catalogue.digest,
        "features": "none" if features is None else ", ".join(features.names),
        "rating range": repr(ratings.rating_range),
        "row rules": repr(ratings.rules),
        "model to start from": "none" if start is None else start.digest,
        "ledger": "kept" if ledger else "none",
        "ratings": _digest(ratings),
    }


def _digest(ratings: AnyRatings) -> str:
    if isinstance(ratings, StoredRatings):
        return ratings.digest
    digest = hashlib.sha256()
    for array in (ratings.indptr, ratings.items, ratings.values):
        digest.update(array.tobytes())
    return digest.hexdigest()
