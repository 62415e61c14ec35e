"""Recommenders trained under user-level differential privacy.

import discreet
ratings = discreet.Ratings.from_parquet("ratings.parquet", user="user", item="item", rating="rating",
                                        rating_range=(1, 5), catalogue="items.parquet")
model = discreet.BudgetedALS().fit(ratings, budget=discreet.Budget(epsilon=1.0, delta=1e-6)).model_
model.recommend({"item-17": 5, "item-3": 2}, n=10)
print(model.statement)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Loaded when first asked for: the command line answers --help without arrays, frames or compilers.
_HOMES = {
    "ALS": "discreet.methods.als",
    "Budget": "discreet.privacy.budget",
    "BudgetedALS": "discreet.methods.budgeted.estimator",
    "Catalogue": "discreet.catalogue",
    "DPALS": "discreet.methods.dpals.estimator",
    "DiscreetError": "discreet.errors",
    "FrankWolfe": "discreet.methods.frank_wolfe.estimator",
    "Model": "discreet.model",
    "PrivateSVD": "discreet.methods.svd.estimator",
    "ProjectedGradient": "discreet.methods.projected_gradient.estimator",
    "Ratings": "discreet.data.ratings",
    "Statement": "discreet.privacy.statement",
}

if TYPE_CHECKING:
    from discreet.catalogue import Catalogue
    from discreet.data.ratings import Ratings
    from discreet.errors import DiscreetError
    from discreet.methods.als import ALS
    from discreet.methods.budgeted.estimator import BudgetedALS
    from discreet.methods.dpals.estimator import DPALS
    from discreet.methods.frank_wolfe.estimator import FrankWolfe
    from discreet.methods.projected_gradient.estimator import ProjectedGradient
    from discreet.methods.svd.estimator import PrivateSVD
    from discreet.model import Model
    from discreet.privacy.budget import Budget
    from discreet.privacy.statement import Statement

__all__ = [
    "ALS",
    "DPALS",
    "Budget",
    "BudgetedALS",
    "Catalogue",
    "DiscreetError",
    "FrankWolfe",
    "Model",
    "PrivateSVD",
    "ProjectedGradient",
    "Ratings",
    "Statement",
]


def __getattr__(name: str) -> Any:
    if name == "devices":  # a package with an interface of its own: discreet.devices.fit
        return importlib.import_module("discreet.devices")
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}") from None
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
