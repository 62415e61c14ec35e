"""Checked hyper-parameters of the methods. All of them are public. One vocabulary for all methods."""

from __future__ import annotations

from difflib import get_close_matches
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


class Settings(BaseModel):
    """Frozen, strict, nothing unknown, no infinities."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def checked(cls, **values: Any) -> Self:
        """Build from keyword arguments; every mistake is named with the setting's own name."""
        try:
            return cls(**values)
        except ValidationError as error:
            wrong = dict.fromkeys(_words((*item["loc"], "")[0], item["msg"], cls) for item in error.errors())
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
    """What is wrong with one setting; for a name that is none, which one was meant as far as that can be guessed."""
    known = settings.model_fields
    if name == "":
        return message
    if name in known:
        return f"{name}: {message}"
    near = get_close_matches(str(name), known, 1)
    return f"{name}: no such setting" + (f"; did you mean {near[0]}" if near else "")
