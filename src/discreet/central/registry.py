"""All central methods by the names they have on the command line and in saved models."""

from __future__ import annotations

from typing import Any

from discreet.central.als import ALS
from discreet.central.budgeted import BudgetedALS
from discreet.central.dpals import DPALS
from discreet.central.frank_wolfe import FrankWolfe
from discreet.central.method import PrivateMethod
from discreet.central.projected_gradient import ProjectedGradient
from discreet.central.svd import PrivateSVD
from discreet.central.trivial import GlobalMean, ItemMean, Popularity, UserMean

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
