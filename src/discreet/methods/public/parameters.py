"""Estimators with scikit-learn's conventions: parameters by name, get_params, set_params, clone, a readable repr."""

from __future__ import annotations

import html
import inspect
from typing import Any, ClassVar, Self

from discreet.errors import NotFitted, SettingsInvalid
from discreet.methods.public.settings import Settings

__all__ = ["Estimator"]

_LEARNT = ("model_", "statement_", "rank_", "rounds_")


class Estimator:
    """Parameters of a method, checked when they are given and again when they are used.

    Parameters are the fields of ``settings_type``: signature and documentation are made of these. A parameter is an
    attribute of the same name. Nothing that was learnt is a parameter, and nothing of the training data is kept.
    """

    settings_type: ClassVar[type[Settings]]
    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "settings_type" in vars(cls):
            shown = [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
                for name, default in cls.settings_type.defaults().items()
            ]
            cls.__signature__ = inspect.Signature(shown)
            about, notes, more = inspect.cleandoc(cls.__doc__ or "").partition("Notes\n-----\n")
            parts = about.strip(), f"Parameters\n----------\n{cls.settings_type.in_words()}", f"{notes}{more}"
            cls.__doc__ = "\n\n".join(part for part in parts if part)

    def __new__(cls, *positional: Any, **parameters: Any) -> Self:
        """Refuse what is not given by name."""
        if positional:
            raise SettingsInvalid(
                f"parameters of {cls.__name__} are given by name, as in {cls.__name__}(rank=8)"
            )
        return super().__new__(cls)

    def __init__(self, **parameters: Any) -> None:
        _ = self.settings_type.checked(**parameters)
        vars(self).update(self.settings_type.defaults() | parameters)

    @property
    def settings(self) -> Any:
        """The parameters as checked settings."""
        return self.settings_type.checked(**self.get_params())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name. ``deep`` is there for scikit-learn; nothing here is nested."""
        return {name: getattr(self, name) for name in self.settings_type.defaults()}

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
        defaults = self.settings_type.defaults()
        return {name: value for name, value in self.get_params().items() if value != defaults[name]}
