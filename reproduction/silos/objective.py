"""The k-means objective of prototypes, private or not: how far users are from the nearest of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.methods.prototypes.private.silo import PrivatePrototypes
from discreet.methods.prototypes.public.message import PrototypeMessage
from discreet.methods.prototypes.settings import PrototypeSettings

_BLOCK = 4096


def mean_objective(ratings: Ratings, message: PrototypeMessage, cap: float) -> float:
    """Mean over users of the squared distance of their row, clipped to the cap, to the nearest prototype."""
    centres = np.where(message.mask, np.minimum(message.values, cap), 0.0)
    norms, found = (centres**2).sum(axis=1), 0.0
    for start in range(0, ratings.n_users, _BLOCK):
        part = ratings.take_users(slice(start, start + _BLOCK))
        rows = np.zeros((part.n_users, part.n_items))
        owners = np.repeat(np.arange(part.n_users), np.diff(part.indptr))
        rows[owners, part.items] = np.minimum(part.values, cap)
        away = (rows**2).sum(axis=1) + (norms - 2.0 * rows @ centres.T).min(axis=1)
        found += float(np.maximum(away, 0.0).sum())
    return found / ratings.n_users


def private_prototypes(ratings: Ratings, k: int, epsilon: float, **settings: Any) -> PrototypeMessage:
    """The paper's clustering of all users in one place."""
    method = PrivatePrototypes(
        PrototypeSettings.from_preset(
            "swap", prototypes=k, users=ratings.n_users, minimum_users=1, shrink=False, **settings
        )
    )
    return method.message(ratings, epsilon)
