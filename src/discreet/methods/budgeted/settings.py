"""Settings of budgeted private ALS. Public."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from discreet.methods.settings import Auto, Positive, PrivateSettings, Rank, Rounds, Share

__all__ = ["BudgetedSettings"]


class BudgetedSettings(PrivateSettings):
    """Budgeted private ALS; described in :class:`discreet.BudgetedALS`."""

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
