"""Methods for a trusted server: ratings come in, a model goes out."""

from discreet.central.als import ALS
from discreet.central.budgeted import BudgetedALS

__all__ = ["ALS", "BudgetedALS"]
