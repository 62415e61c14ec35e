"""Miniature instances for the game: a few users, a canary that uses up its bound, settings that let it.

The smaller the instance, the more often it can be run; the code is the same for any size. A canary is tight where every
release moves by what was charged for it: everything at the top of the scale, and clips so low that every row reaches
them, are what does it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from discreet.audit.strangers import together
from discreet.data.ratings import Ratings
from discreet.errors import SettingsInvalid
from discreet.methods.method import PrivateMethod
from discreet.methods.registry import find_method

__all__ = ["Instance", "instance_of"]

_RANGE = (1.0, 5.0)


@dataclass(frozen=True)
class Instance:
    """One method on a handful of users, and the one who comes or does not.

    Parameters
    ----------
    method
        With the settings of the instance.
    others, canary, everybody
        Over the same catalogue; ``everybody`` is both together.
    seed
        Of the ordinary randomness, which is public.
    """

    method: PrivateMethod
    others: Ratings
    canary: Ratings
    everybody: Ratings
    seed: int = 0


@dataclass(frozen=True)
class _Recipe:
    settings: Mapping[str, Any]
    users: int = 3
    items: int = 3


# Where a method is not listed, its defaults are played.
_RECIPES: dict[str, _Recipe] = {
    # The number of users must stand out of the noise for the run to go on, so there are more of them and a larger
    # share of the budget says how many.
    "budgeted": _Recipe({"rank": 1, "rounds": 1, "activity_share": 0.3, "offset_share": 0.5}, users=80),
    "dpals": _Recipe(
        {
            "rank": 1,
            "rounds": 2,
            "max_ratings": 1,
            "row_clip": 1e-3,
            "penalty": 1e-4,
            "typical_ratings": 1.0,
            "centre": "middle",
            "sampling": "uniform",
            "item_exponent": 0.0,
        },
        items=1,
    ),
    "frank-wolfe": _Recipe({"rounds": 2, "row_clip": 0.5, "max_ratings": 3}),
    "svd": _Recipe({"rank": 1, "row_clip": 0.5}),
    "projected-gradient": _Recipe({"rank": 1, "rounds": 2, "row_clip": 0.5}),
}


@cache
def instance_of(name: str) -> Instance:
    """The miniature instance of a registered method."""
    found = find_method(name)
    if not issubclass(found, PrivateMethod):
        raise SettingsInvalid(f"{name} is not private: there is no promise to audit")
    recipe = _RECIPES.get(name, _Recipe({}))
    others, canary = _others(recipe), _users(recipe.items, [np.arange(recipe.items)], [5.0])
    return Instance(found(**recipe.settings), others, canary, together(others, canary))


def _others(recipe: _Recipe) -> Ratings:
    rng = np.random.default_rng(1)
    rows = [rng.permutation(recipe.items)[: max(1, recipe.items - 1)] for _ in range(recipe.users)]
    return _users(recipe.items, [np.sort(row) for row in rows], rng.integers(1, 6, recipe.users).tolist())


def _users(items: int, rows: list[Any], values: list[float]) -> Ratings:
    counts = [len(row) for row in rows]
    return Ratings.from_arrays(
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate(rows),
        np.repeat(np.asarray(values, dtype=np.float64), counts),
        catalogue=np.arange(items),
        rating_range=_RANGE,
    )
