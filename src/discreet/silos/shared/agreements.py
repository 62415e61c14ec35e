"""The ways to train together, told apart by what the agreement says."""

from __future__ import annotations

import json
import os
from typing import TypeAlias

from discreet.catalogue import Catalogue
from discreet.model import Model
from discreet.privacy.statement import Statement
from discreet.silos.shared.agreement import Agreement, read_agreement
from discreet.silos.shared.outcome import decode_model
from discreet.silos.shared.prototypes import PrototypeAgreement, decode_prototype_model

__all__ = ["AnyAgreement", "load_agreement", "open_model", "parse_agreement"]

AnyAgreement: TypeAlias = Agreement | PrototypeAgreement


def load_agreement(path: str | os.PathLike[str]) -> AnyAgreement:
    """Read an agreement of either kind, checked."""
    return parse_agreement(read_agreement(path))


def parse_agreement(text: bytes) -> AnyAgreement:
    """An agreement of either kind from the text of its file, checked."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if isinstance(content, dict) and content.get("method") == "prototypes":
        return PrototypeAgreement.parse(text)
    return Agreement.parse(text)


def open_model(body: bytes, agreement: AnyAgreement, catalogue: Catalogue, own: Statement | None) -> Model:
    """The model that came down at the end; refuses what is none of this run, or promises too much."""
    if isinstance(agreement, PrototypeAgreement):
        return decode_prototype_model(body, agreement, catalogue, own)
    return decode_model(body, agreement, catalogue)
