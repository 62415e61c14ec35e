"""Estimators with scikit-learn's conventions: explicit parameters, get_params, set_params, clone, a readable repr."""

from __future__ import annotations

import html
import inspect
from functools import cache
from typing import Any, ClassVar, Self

from discreet.errors import NotFitted, SettingsInvalid
from discreet.methods.settings import Settings

__all__ = ["Estimator"]

_LEARNT = ("model_", "statement_", "rank_", "rounds_")


class Estimator:
    """Parameters of a method, checked when they are given and again when they are used.

    A parameter is an attribute of the same name. Nothing that was learnt is a parameter, and nothing of the training
    data is kept. A class without a constructor of its own takes the fields of its settings.
    """

    settings_type: ClassVar[type[Settings]]

    def __new__(cls, *positional: Any, **parameters: Any) -> Self:
        """Refuse names that are no parameters in words, an old name with its new one."""
        if positional:
            raise SettingsInvalid(
                f"parameters of {cls.__name__} are given by name, as in {cls.__name__}(rank=8)"
            )
        unknown = {name: value for name, value in parameters.items() if name not in cls._defaults()}
        if unknown:
            cls.settings_type.checked(**unknown)
            raise SettingsInvalid(f"{', '.join(unknown)}: no parameter of {cls.__name__}")
        return super().__new__(cls)

    def __init__(self, **parameters: Any) -> None:
        vars(self).update(self._defaults() | parameters)
        _ = self.settings

    @classmethod
    @cache
    def _defaults(cls) -> dict[str, Any]:
        """Names and default values of all parameters, as the constructor or else the settings state them."""
        if cls.__init__ is Estimator.__init__:
            fields = cls.settings_type.model_fields.items()
            return {name: field.get_default(call_default_factory=True) for name, field in fields}
        return {
            name: parameter.default
            # Of the constructor itself: which one a class has is looked up differently from one Python to the next.
            for name, parameter in inspect.signature(cls.__init__).parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        }

    @property
    def settings(self) -> Any:
        """The parameters as checked settings."""
        return self.settings_type.checked(**self.get_params())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name. ``deep`` is there for scikit-learn; nothing here is nested."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; all of them or, where one is wrong, none.

        Raises
        ------
        SettingsInvalid
            For a name that is no parameter or a value that cannot be.
        """
        _ = self.settings_type.checked(**(self.get_params() | parameters))
        vars(self).update(parameters)
        return self

    def clone(self) -> Self:
        """A new method with the same parameters that has learnt nothing."""
        return type(self)(**self.get_params())

    def __getattr__(self, name: str) -> Any:
        if name in _LEARNT:
            raise NotFitted(
                f"this {type(self).__name__} has not been fitted, so it has no {name}; call fit(ratings, budget) first"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        changed = ", ".join(f"{name}={value!r}" for name, value in self._changed().items())
        return f"{type(self).__name__}({changed})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(repr(value))}</td></tr>"
            for name, value in self.get_params().items()
        )
        model = html.escape(repr(vars(self)["model_"])) if "model_" in vars(self) else "not fitted"
        return f"<table><caption>{html.escape(type(self).__name__)}: {model}</caption>{rows}</table>"

    def _changed(self) -> dict[str, Any]:
        """Parameters that are not at their default."""
        defaults = self._defaults()
        return {name: value for name, value in self.get_params().items() if value != defaults[name]}
