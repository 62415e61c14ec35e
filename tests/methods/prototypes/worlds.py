"""Small silos with tastes in them, and hostile users to add."""

from __future__ import annotations

import math

import numpy as np

from discreet.catalogue import Catalogue
from discreet.data.ratings import Ratings

ITEMS = 12
RANGE = (0.0, 5.0)


def silo(users: int, seed: int, *, most: int = ITEMS) -> list[dict[int, float]]:
    """Two tastes: the first half of the items or the second, liked."""
    rng = np.random.default_rng(seed)
    rows = []
    for user in range(users):
        picked = rng.choice(ITEMS, size=rng.integers(0, most + 1), replace=False)
        liked = picked < ITEMS // 2 if user % 2 else picked >= ITEMS // 2
        rows.append(dict(zip(picked.tolist(), np.where(liked, 5.0, 1.0).tolist(), strict=True)))
    return rows


def hostile() -> dict[str, dict[int, float]]:
    """Users who bring as much as they can."""
    return {
        "everything at the top": dict.fromkeys(range(ITEMS), 5.0),
        "everything at the bottom": dict.fromkeys(range(ITEMS), 0.0),
        "nothing": {},
        "one item": {3: 5.0},
        "far beyond the scale": dict.fromkeys(range(ITEMS), 1e9),
        "far below the scale": dict.fromkeys(range(ITEMS), -1e9),
        "no numbers": dict.fromkeys(range(ITEMS), math.nan),
        "endless": {j: (math.inf if j % 2 else -math.inf) for j in range(ITEMS)},
        "a mixture": {j: (5.0 if j % 3 else 1e-9) for j in range(ITEMS)},
    }


def ratings(rows: list[dict[int, float]]) -> Ratings:
    """As they come, also values that the readers would refuse."""
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    items = np.array([j for row in rows for j in sorted(row)], dtype=np.int32)
    values = np.array([row[j] for row in rows for j in sorted(row)], dtype=np.float64)
    return Ratings(indptr, items, values, np.arange(len(rows)), Catalogue(list(range(ITEMS))), RANGE)
