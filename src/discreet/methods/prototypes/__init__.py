"""Private prototypes: one message from each silo, one back, nothing else (paper 003, with its corrections).

Names are loaded when they are asked for, so that whoever needs the public half loads nothing that holds ratings.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.methods.prototypes.private.silo import PrivatePrototypes
    from discreet.methods.prototypes.public.message import PrototypeMessage
    from discreet.methods.prototypes.public.server import build_model, factorise
    from discreet.methods.prototypes.settings import FactorSettings, PrototypeSettings

_HOMES = {
    "FactorSettings": "settings",
    "PrivatePrototypes": "private.silo",
    "PrototypeMessage": "public.message",
    "PrototypeSettings": "settings",
    "build_model": "public.server",
    "factorise": "public.server",
}
__all__ = [
    "FactorSettings",
    "PrivatePrototypes",
    "PrototypeMessage",
    "PrototypeSettings",
    "build_model",
    "factorise",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.methods.prototypes' has no attribute {name!r}")
    return getattr(importlib.import_module(f"discreet.methods.prototypes.{_HOMES[name]}"), name)
