"""Checked hyper-parameters of the methods. All of them are public."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.errors import SettingsInvalid

__all__ = ["ALSSettings", "BudgetedSettings", "PrivateSettings", "Settings"]

Share = Annotated[float, Field(gt=0.0, lt=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
Rank = Annotated[int, Field(ge=0, le=512)]
Rounds = Annotated[int, Field(ge=1, le=1000)]
Auto = Literal["auto"]


class Settings(BaseModel):
    """Frozen, strict, nothing unknown, no infinities."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def checked(cls, **values: Any) -> Self:
        """Build from keyword arguments; every mistake is named with the setting's own name."""
        try:
            return cls(**values)
        except ValidationError as error:
            wrong = dict.fromkeys(f"{item['loc'][0]}: {item['msg']}" for item in error.errors())
            known = ", ".join(sorted(cls.model_fields))
            raise SettingsInvalid(f"{'; '.join(wrong)}. Known settings: {known}") from None


class PrivateSettings(Settings):
    """What every private method can be told.

    Attributes
    ----------
    discover_share
        Share of mu^2 and of delta for choosing the catalogue where none is given; ``None`` refuses instead.
    """

    discover_share: Share | None = None


class ALSSettings(Settings):
    """Non-private alternating least squares.

    Attributes
    ----------
    rank, rounds
        Factors, and passes over both sides.
    offset_penalty, factor_penalty, count_exponent
        Ridge on offsets and factors, times (number of ratings) ** count_exponent; ``"auto"`` is 0.075 with
        exponent 1 for ratings and 5 with exponent 0 for clicks.
    gravity
        Weight of unseen items as zeros (implicit feedback); ``"auto"`` is 12 times the share of items that a
        user takes.
    """

    rank: Rank = 64
    rounds: Rounds = 15
    offset_penalty: Positive = 0.1
    factor_penalty: Positive | Auto = "auto"
    count_exponent: Annotated[float, Field(ge=0.0, le=2.0)] | Auto = "auto"
    gravity: Positive | Auto = "auto"


class BudgetedSettings(PrivateSettings):
    """Budgeted private ALS.

    Attributes
    ----------
    rank, rounds
        ``"auto"`` follows the public rule of :mod:`discreet.methods.budgeted.public.plan`.
    curvature
        ``"shared"``: one second moment for all items. ``"full"``: one for each item, released with more noise.
    activity_share
        Share of mu^2 for the first release (how many users, how much they rate).
    offset_share
        Share of the rest for the offsets; ``"auto"`` is 0.2 for ratings and 0.1 for clicks.
    growth
        Each round gets this many times the mu^2 of the one before.
    weight_share, moment_share
        Share of a typical user's energy that a round spends on item weights and on the users' moment.
    first_weight_share
        The same for item weights in the offsets' release, where nothing is known about them yet.
    item_exponent
        An item's budget is proportional to popularity ** -exponent; ``"auto"`` is 0.25 for ratings, 0 for clicks.
    factor_penalty
        Ridge on a user's factors (implicit feedback; for ratings it follows the released residual size); ``"auto"`` is
        0.1 times the gravity.
    gravity
        Weight of unseen items as zeros (implicit feedback); ``"auto"`` is 20 times the (released) mean share of
        items that a user takes, at most 1.
    """

    rank: Rank | Auto = "auto"
    rounds: Rounds | Auto = "auto"
    curvature: Literal["shared", "full"] = "shared"
    activity_share: Share = 0.01
    offset_share: Share | Auto = "auto"
    growth: Positive = 1.3
    first_weight_share: Share = 0.2
    weight_share: Share = 0.02
    moment_share: Share = 0.02
    item_exponent: Annotated[float, Field(ge=0.0, le=1.0)] | Auto = "auto"
    factor_penalty: Positive | Auto = "auto"
    gravity: Positive | Auto = "auto"
