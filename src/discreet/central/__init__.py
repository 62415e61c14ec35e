"""Methods for a trusted server: ratings come in, a model goes out."""

from discreet.central.als import ALS
from discreet.central.budgeted import BudgetedALS
from discreet.central.dpals import DPALS
from discreet.central.frank_wolfe import FrankWolfe
from discreet.central.projected_gradient import ProjectedGradient
from discreet.central.svd import PrivateSVD
from discreet.central.trivial import GlobalMean, ItemMean, Popularity, UserMean

__all__ = [
    "ALS",
    "DPALS",
    "BudgetedALS",
    "FrankWolfe",
    "GlobalMean",
    "ItemMean",
    "Popularity",
    "PrivateSVD",
    "ProjectedGradient",
    "UserMean",
]
