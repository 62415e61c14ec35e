"""Recommenders trained under user-level differential privacy.

import discreet
ratings = discreet.Ratings.from_parquet("ratings.parquet", user="user", item="item", rating="rating",
                                        rating_range=(1, 5), catalogue="items.parquet")
model = discreet.BudgetedALS().fit(ratings, budget=discreet.Budget(epsilon=1.0, delta=1e-6)).model_
model.recommend({"item-17": 5, "item-3": 2}, n=10)
print(model.statement)
"""

from discreet.catalogue import Catalogue
from discreet.central import ALS, DPALS, BudgetedALS, FrankWolfe, PrivateSVD, ProjectedGradient
from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError
from discreet.model import Model
from discreet.privacy import Budget, Statement

__version__ = "0.1.0"

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
