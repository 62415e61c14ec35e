"""Settings of budgeted private ALS. Public."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from discreet.methods.budgeted.public import constants as fitted
from discreet.methods.public.settings import Auto, Positive, PrivateSettings, Rank, Rounds, Share

__all__ = ["BudgetedSettings"]


class BudgetedSettings(PrivateSettings):
    """Budgeted private ALS.

    Parameters
    ----------
    rank, rounds
        ``"auto"`` follows a public rule of the number of users and items, ratings per user and the budget.
    activity_share
        Share of mu^2 for the first release (how many users, how much they rate).
    offset_share
        Share of the rest for the offsets.
    growth
        Each round gets this many times the mu^2 of the one before.
    item_exponent
        An item's budget is proportional to popularity ** -exponent.
    """

    rank: Rank | Auto = "auto"
    rounds: Rounds | Auto = "auto"
    activity_share: Share = fitted.ACTIVITY_SHARE
    offset_share: Share = fitted.OFFSET_SHARE
    growth: Positive = fitted.GROWTH
    item_exponent: Annotated[float, Field(ge=0.0, le=1.0)] = fitted.ITEM_EXPONENT
