"""Settings of budgeted private ALS. Public."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from discreet.methods.settings import Auto, Positive, PrivateSettings, Rank, Rounds, Share

__all__ = ["BudgetedSettings"]


class BudgetedSettings(PrivateSettings):
    """Budgeted private ALS.

    Parameters
    ----------
    rank, rounds
        ``"auto"`` follows a public rule of the number of users and items, ratings per user and the budget.
    curvature
        ``"shared"``: one second moment for all items. ``"full"``: one for each item, released with more noise.
    activity_share
        Share of mu^2 for the first release (how many users, how much they rate).
    offset_share
        Share of the rest for the offsets; ``"auto"`` is 0.2, down to 0.1 where items are few.
    growth
        Each round gets this many times the mu^2 of the one before.
    first_weight_share
        Share of a typical user's energy for item weights in the offsets' release, where nothing is known about them.
    weight_share, moment_share
        Share of a typical user's energy that a round spends on item weights and on the users' moment.
    item_exponent
        An item's budget is proportional to popularity ** -exponent.
    """

    rank: Rank | Auto = "auto"
    rounds: Rounds | Auto = "auto"
    curvature: Literal["shared", "full"] = "shared"
    activity_share: Share = 0.01
    offset_share: Share | Auto = "auto"
    growth: Positive = 1.3
    first_weight_share: Share = 0.4
    weight_share: Share = 0.02
    moment_share: Share = 0.02
    item_exponent: Annotated[float, Field(ge=0.0, le=1.0)] = 0.25
