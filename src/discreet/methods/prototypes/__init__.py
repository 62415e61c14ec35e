"""Private prototypes: one message from each silo, one back, nothing else (prototypes paper, with its corrections).

Names are loaded when they are asked for, so that whoever needs the public half loads nothing that holds ratings.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.methods.prototypes.private.pipeline import PrivatePrototypes
    from discreet.methods.prototypes.public.factorise import factorise
    from discreet.methods.prototypes.public.message import PrototypeMessage
    from discreet.methods.prototypes.public.model import build_model
    from discreet.methods.prototypes.settings import FactorSettings, PrototypeSettings, Shares
    from discreet.methods.prototypes.shares import ShareTable

__all__ = [
    "FactorSettings",
    "PrivatePrototypes",
    "PrototypeMessage",
    "PrototypeSettings",
    "ShareTable",
    "Shares",
    "build_model",
    "factorise",
]

_HOMES = {
    "FactorSettings": "settings",
    "PrivatePrototypes": "private.pipeline",
    "PrototypeMessage": "public.message",
    "PrototypeSettings": "settings",
    "ShareTable": "shares",
    "Shares": "settings",
    "build_model": "public.model",
    "factorise": "public.factorise",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.methods.prototypes' has no attribute {name!r}")
    return getattr(importlib.import_module(f"discreet.methods.prototypes.{_HOMES[name]}"), name)
