"""Checked hyper-parameters of the methods. All of them are public. One vocabulary for all methods."""

from __future__ import annotations

import inspect
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

_PARAMETERS = "Parameters\n----------\n"


class Settings(BaseModel):
    """Frozen, strict, nothing unknown, no infinities.

    A class of settings states names, types, defaults and words of a method's parameters, once: the method's signature
    and documentation are made of it (:class:`discreet.methods.public.parameters.Estimator`).
    """

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

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Names and default values, a class's own before those that it shares with others."""
        own = (
            name for part in cls.__mro__ for name in inspect.get_annotations(part) if name in cls.model_fields
        )
        fields = {name: cls.model_fields[name] for name in dict.fromkeys(own)}
        return {name: field.get_default(call_default_factory=True) for name, field in fields.items()}

    @classmethod
    def in_words(cls) -> str:
        """What each setting does, in the same order: the classes' own parts on parameters, one after the other."""
        documents = (inspect.cleandoc(vars(part).get("__doc__") or "") for part in cls.__mro__)
        parts = (text.partition(_PARAMETERS)[2].partition("\n\n")[0].strip() for text in documents)
        return "\n".join(part for part in parts if part)


class PrivateSettings(Settings):
    """What every private method can be told.

    Parameters
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
