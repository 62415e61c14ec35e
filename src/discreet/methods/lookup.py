"""The table of all methods: where a class and its public half are, by name, ours and those of other packages. Public.

Nothing is loaded before it is asked for: the server of silos loads no class, which could read ratings.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.metadata import entry_points
from typing import Any

from discreet.errors import SettingsInvalid
from discreet.methods.public.half import PublicHalf

__all__ = [
    "ALLOWED",
    "OURS",
    "PUBLIC_HALVES",
    "allow",
    "check_allowed",
    "find_class",
    "find_public_half",
    "other_names",
]

_PUBLISHED = "discreet.methods.published"
_BASELINES = (f"{_PUBLISHED}.private.baselines", f"{_PUBLISHED}.public.baselines")
OURS = {
    "ease": ("discreet.methods.ease.estimator:EASE", "discreet.methods.ease.public.train:EASE_HALF"),
    "budgeted": (
        "discreet.methods.budgeted.private.contributions:BudgetedALS",
        "discreet.methods.budgeted.public.train:BUDGETED",
    ),
    "als": ("discreet.methods.als:ALS", ""),
    "dpals": (f"{_PUBLISHED}.private.dpals:DPALS", f"{_PUBLISHED}.public.dpals:DPALS_HALF"),
    "frank-wolfe": (
        f"{_PUBLISHED}.private.frank_wolfe:FrankWolfe",
        f"{_PUBLISHED}.public.frank_wolfe:FRANK_WOLFE",
    ),
    "svd": (f"{_PUBLISHED}.private.svd:PrivateSVD", f"{_PUBLISHED}.public.svd:SVD"),
    "projected-gradient": (
        f"{_PUBLISHED}.private.projected_gradient:ProjectedGradient",
        f"{_PUBLISHED}.public.projected_gradient:PROJECTED_GRADIENT",
    ),
    "global-mean": (f"{_BASELINES[0]}:GlobalMean", f"{_BASELINES[1]}:GLOBAL_MEAN"),
    "user-mean": (f"{_BASELINES[0]}:UserMean", f"{_BASELINES[1]}:USER_MEAN"),
    "item-mean": (f"{_BASELINES[0]}:ItemMean", f"{_BASELINES[1]}:ITEM_MEAN"),
    "popularity": (f"{_BASELINES[0]}:Popularity", f"{_BASELINES[1]}:POPULARITY"),
}
"""Class of each method, and its public half where it is private."""
PUBLIC_HALVES = {name: half for name, (_, half) in OURS.items() if half}
"""Public halves of those that are private."""

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
    name = OURS[name][0] if name in OURS else name
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


def find_public_half(name: str) -> PublicHalf:
    """The public half of a private method by its name, or of ``package.module:Class``, which brings both halves.

    Raises
    ------
    SettingsInvalid
        When there is no such method.
    """
    half = find_class(PUBLIC_HALVES[name]) if name in PUBLIC_HALVES else None
    half = getattr(find_class(name), "public_half", None) if half is None else half
    if not isinstance(half, PublicHalf):
        raise SettingsInvalid(f"there is no private method {name!r}; known are {', '.join(PUBLIC_HALVES)}")
    return half


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
