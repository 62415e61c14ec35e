"""The ways to train together, told apart by what the agreement says."""

from __future__ import annotations

import json
import os
from typing import TypeAlias

from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.base_agreement import read_agreement
from discreet.silos.shared.prototype_agreement import PrototypeAgreement

__all__ = ["AnyAgreement", "load_agreement"]

AnyAgreement: TypeAlias = Agreement | PrototypeAgreement


def load_agreement(path: str | os.PathLike[str]) -> AnyAgreement:
    """Read an agreement of either method, checked."""
    text = read_agreement(path)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if isinstance(content, dict) and content.get("method") == "prototypes":
        return PrototypeAgreement.parse(text)
    return Agreement.parse(text)
