"""Ratings, readers, splits and synthetic data: the private side. Public rooms may not import it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from discreet.data.ratings import Ratings

if TYPE_CHECKING:
    from discreet.data.preparation import prepare
    from discreet.data.stored import StoredRatings

__all__ = ["Ratings", "StoredRatings", "prepare"]

# Ratings on disk are loaded when they are asked for.
_ON_DISK = {"StoredRatings": "discreet.data.stored", "prepare": "discreet.data.preparation"}


def __getattr__(name: str) -> Any:
    if name not in _ON_DISK:
        raise AttributeError(f"module 'discreet.data' has no attribute {name!r}")
    return getattr(importlib.import_module(_ON_DISK[name]), name)
