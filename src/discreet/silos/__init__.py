"""Several organisations train one model together without pooling their ratings.

``discreet.silos.fit`` runs all of them in this process; ``discreet federate`` runs them where they are.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from discreet.errors import SettingsInvalid

if TYPE_CHECKING:
    from discreet.silos.in_process import TrainedInSilos, fit, refined

__all__ = ["TrainedInSilos", "fit", "refined"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'discreet.silos' has no attribute {name!r}")
    try:
        module = importlib.import_module("discreet.silos.in_process")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "cryptography":
            raise
        raise SettingsInvalid(
            "training in silos needs the package cryptography; install it with: pip install 'discreet[silos]'"
        ) from None
    globals().update({one: getattr(module, one) for one in __all__})
    return globals()[name]
