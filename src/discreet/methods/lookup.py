"""Where the class of a method of another package is, by its name. Public."""

from __future__ import annotations

import importlib
import os
import sys
from importlib.metadata import entry_points
from typing import Any

from discreet.errors import SettingsInvalid

__all__ = ["ALLOWED", "allow", "check_allowed", "find_class", "other_names"]

GROUP = "discreet.methods"
"""Entry points of other packages: ``name = "package.module:Class"``."""
ALLOWED = "DISCREET_METHODS"
"""Environment variable with the classes (``package.module:Class``, separated by commas) that agreements may name."""


def other_names() -> list[str]:
    """Names under which installed packages offer methods."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def find_class(name: str) -> Any:
    """The class of an installed package's method by its name, or by ``package.module:Class``; ``None`` without one.

    Raises
    ------
    SettingsInvalid
        When two packages offer the name, or the class cannot be loaded.
    """
    paths = {entry.value for entry in entry_points(group=GROUP, name=name)}
    if len(paths) > 1:
        raise SettingsInvalid(f"{name} is offered by more than one package: {', '.join(sorted(paths))}")
    module, colon, attribute = (paths.pop() if paths else name).partition(":")
    if not colon:
        return None
    try:
        return getattr(importlib.import_module(module), attribute)
    except Exception as error:  # whatever the module does when it is loaded
        raise SettingsInvalid(f"there is no method {name}: {error}") from None


def allow(name: str) -> None:
    """Let agreements name this class from now on, in this process and in those it starts."""
    if ":" in name:
        known = [one for one in os.environ.get(ALLOWED, "").split(",") if one]
        os.environ[ALLOWED] = ",".join(dict.fromkeys([*known, name]))


def check_allowed(name: str) -> None:
    """Refuse a class that an agreement names and nobody here has asked for: a file must not choose what is loaded.

    Raises
    ------
    SettingsInvalid
        With what to do.
    """
    module = name.partition(":")[0]
    if ":" in name and module not in sys.modules and name not in os.environ.get(ALLOWED, "").split(","):
        raise SettingsInvalid(
            f"the agreement names the code of another package, {name}. If you know and trust it, allow it with the "
            f"environment variable {ALLOWED}={name}"
        )
