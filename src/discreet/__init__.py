"""Recommenders trained under user-level differential privacy.

import discreet
ratings = discreet.Ratings.from_parquet("ratings.parquet", user="user", item="item", rating="rating",
                                        rating_range=(1, 5), catalogue="items.parquet")
model = discreet.BudgetedALS().fit(ratings, budget=discreet.Budget(epsilon=1.0, delta=1e-6)).model_
model.recommend({"item-17": 5, "item-3": 2}, n=10)
print(model.statement)
print(discreet.evaluate(model, test, history=ratings))  # test: what was held back

A trusted server: the methods (`BudgetedALS` is the default) and their `fit`. Several organisations:
`discreet.silos.fit`. Nobody but people's own devices: `discreet.devices.fit`. Methods of one's own subclass
`PrivateMethod`.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

from discreet import errors
from discreet.errors import *  # noqa: F403
from discreet.version import __version__ as __version__

# Progress and refusals go to the logger "discreet", which says nothing unless the program that imports this asks it to.
logging.getLogger(__name__).addHandler(logging.NullHandler())

# Loaded when first asked for: the command line answers --help without arrays, frames or compilers.
_HOMES = {
    "ALS": "discreet.methods.als",
    "Budget": "discreet.privacy.budget",
    "BudgetedALS": "discreet.methods.budgeted.private.contributions",
    "Catalogue": "discreet.catalogue",
    "DPALS": "discreet.methods.published.private.dpals",
    "EASE": "discreet.methods.ease.estimator",
    "FrankWolfe": "discreet.methods.published.private.frank_wolfe",
    "GlobalMean": "discreet.methods.published.private.baselines",
    "LedgerFile": "discreet.privacy.account.ledger_file",
    "ItemMean": "discreet.methods.published.private.baselines",
    "Model": "discreet.model",
    "Popularity": "discreet.methods.published.private.baselines",
    "PrivateMethod": "discreet.methods.method",
    "PrivateSVD": "discreet.methods.published.private.svd",
    "ProjectedGradient": "discreet.methods.published.private.projected_gradient",
    "RatingScale": "discreet.catalogue",
    "Ratings": "discreet.data.ratings",
    "Statement": "discreet.privacy.statement",
    "UserMean": "discreet.methods.published.private.baselines",
    "evaluate": "discreet.evaluation.protocol",
    "plan": "discreet.planning",
    "tune": "discreet.methods.tuning",
}
_ROOMS = ("devices", "silos")

if TYPE_CHECKING:
    from discreet import devices, silos
    from discreet.catalogue import Catalogue, RatingScale
    from discreet.data.ratings import Ratings
    from discreet.evaluation.protocol import evaluate
    from discreet.methods.als import ALS
    from discreet.methods.budgeted.private.contributions import BudgetedALS
    from discreet.methods.ease.estimator import EASE
    from discreet.methods.method import PrivateMethod
    from discreet.methods.published.private.baselines import GlobalMean, ItemMean, Popularity, UserMean
    from discreet.methods.published.private.dpals import DPALS
    from discreet.methods.published.private.frank_wolfe import FrankWolfe
    from discreet.methods.published.private.projected_gradient import ProjectedGradient
    from discreet.methods.published.private.svd import PrivateSVD
    from discreet.methods.tuning import tune
    from discreet.model import Model
    from discreet.planning import plan
    from discreet.privacy.account.ledger_file import LedgerFile
    from discreet.privacy.budget import Budget
    from discreet.privacy.statement import Statement

__all__ = [
    "ALS",
    "DPALS",
    "EASE",
    "Budget",
    "BudgetedALS",
    "Catalogue",
    "FrankWolfe",
    "GlobalMean",
    "ItemMean",
    "LedgerFile",
    "Model",
    "Popularity",
    "PrivateMethod",
    "PrivateSVD",
    "ProjectedGradient",
    "RatingScale",
    "Ratings",
    "Statement",
    "UserMean",
    "devices",
    "evaluate",
    "plan",
    "silos",
    "tune",
]
__all__ += errors.__all__


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"discreet.{name}")
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}") from None
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
