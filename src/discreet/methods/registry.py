"""All central methods by the names they have on the command line and in saved models."""

from __future__ import annotations

from typing import Any

from discreet.methods.als import ALS
from discreet.methods.budgeted.estimator import BudgetedALS
from discreet.methods.dpals.estimator import DPALS
from discreet.methods.frank_wolfe.estimator import FrankWolfe
from discreet.methods.method import PrivateMethod
from discreet.methods.projected_gradient.estimator import ProjectedGradient
from discreet.methods.svd.estimator import PrivateSVD
from discreet.methods.trivial.estimators import GlobalMean, ItemMean, Popularity, UserMean

__all__ = ["METHODS", "Method"]

Method = type[PrivateMethod[Any]] | type[ALS]

METHODS: dict[str, Method] = {
    "budgeted": BudgetedALS,
    "als": ALS,
    "dpals": DPALS,
    "frank-wolfe": FrankWolfe,
    "svd": PrivateSVD,
    "projected-gradient": ProjectedGradient,
    "global-mean": GlobalMean,
    "user-mean": UserMean,
    "item-mean": ItemMean,
    "popularity": Popularity,
}
