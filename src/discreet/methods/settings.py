"""Checked hyper-parameters of the methods. All of them are public. One vocabulary for all methods."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.errors import SettingsInvalid

__all__ = [
    "Auto",
    "Exponent",
    "MaxRatings",
    "Positive",
    "PrivateSettings",
    "Rank",
    "Rounds",
    "Settings",
    "Share",
]

Share = Annotated[float, Field(gt=0.0, lt=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
Exponent = Annotated[float, Field(ge=0.0, le=2.0)]
Rank = Annotated[int, Field(ge=0, le=512)]
Rounds = Annotated[int, Field(ge=1, le=1000)]
MaxRatings = Annotated[int, Field(ge=1, le=100_000)]
Auto = Literal["auto"]

# Names that settings had before they were brought together; whoever still uses one is told the new one.
_RENAMED = {
    "most": "max_ratings",
    "usual": "typical_ratings",
    "typical_count": "typical_ratings",
    "steps": "rounds",
    "centring": "centre",
    "factor_penalty": "penalty",
    "row_bound": "row_clip",
    "residual_bound": "entry_clip",
    "own_stabiliser": "user_stabiliser",
    "items_per_user": "max_ratings",
    "value_cap": "entry_clip",
    "row_norm": "row_clip",
    "preset": "the class method from_preset (--preset on the command line)",
}


class Settings(BaseModel):
    """Frozen, strict, nothing unknown, no infinities."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def checked(cls, **values: Any) -> Self:
        """Build from keyword arguments; every mistake is named with the setting's own name."""
        try:
            return cls(**values)
        except ValidationError as error:
            wrong = dict.fromkeys(_words(item["loc"][0], item["msg"], cls) for item in error.errors())
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


def _words(name: str | int, message: str, settings: type[Settings]) -> str:
    new = _RENAMED.get(str(name))
    if new is not None and name not in settings.model_fields:
        return f"{name}: is called {new} now"
    return f"{name}: {message}"
