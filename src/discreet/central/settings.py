"""Checked hyper-parameters of the central methods. All of them are public."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.errors import SettingsInvalid

__all__ = ["ALSSettings", "BudgetedSettings", "Settings"]

Share = Annotated[float, Field(gt=0.0, lt=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
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
            known = ", ".join(sorted(cls.model_fields))
            wrong = "; ".join(
                f"{'.'.join(str(part) for part in item['loc'][:1])}: {item['msg']}" for item in error.errors()
            )
            raise SettingsInvalid(f"{wrong}. Known settings: {known}") from None


class ALSSettings(Settings):
    """Non-private alternating least squares."""

    rank: Annotated[int, Field(ge=0, le=512)] = 32
    rounds: Annotated[int, Field(ge=1, le=1000)] = 15
    offset_penalty: Positive = 3.0
    factor_penalty: Positive = 0.05
    count_exponent: Annotated[float, Field(ge=0.0, le=2.0)] = 1.0
    gravity: Positive = 0.3


class BudgetedSettings(Settings):
    """Budgeted private ALS.

    Attributes
    ----------
    rank, rounds
        ``"auto"`` follows the public rule of :mod:`discreet.item_side.plan`.
    curvature
        ``"shared"``: one second moment for all items. ``"full"``: one for each item, more noise.
    activity_share, offset_share
        Shares of mu^2 for the first release and for the offsets.
    weight_share, moment_share
        Share of a typical user's energy that a round spends on item weights and on the users' moment.
    item_exponent
        Items are given c_j = popularity^-exponent of the budget; ``"auto"`` is 0.25 (explicit), 0 (implicit).
    factor_penalty
        Ridge on a user's factors (implicit; explicit feedback takes it from the released residual size).
    gravity
        Weight of unseen items (implicit).
    signal_floor
        Smallest share of the mean signal any direction is assumed to have.
    discover_share
        Share of mu^2 and of delta for choosing the catalogue, where none is given; ``None`` refuses.
    """

    rank: Annotated[int, Field(ge=0, le=512)] | Auto = "auto"
    rounds: Annotated[int, Field(ge=1, le=100)] | Auto = "auto"
    curvature: Literal["shared", "full"] = "shared"
    activity_share: Share = 0.01
    offset_share: Share | Auto = "auto"
    first_weight_share: Share = 0.2
    weight_share: Share = 0.02
    moment_share: Share = 0.02
    growth: Positive = 1.0
    item_exponent: Annotated[float, Field(ge=0.0, le=1.0)] | Auto = "auto"
    factor_penalty: Positive = 0.1
    gravity: Positive = 0.5
    signal_floor: Annotated[float, Field(ge=0.0, le=1.0)] = 0.2
    discover_share: Share | None = None
