"""The ways to train together, told apart by what the agreement says."""

from __future__ import annotations

import json
import os
from typing import TypeAlias

from discreet.catalogue import Catalogue
from discreet.model import Model
from discreet.privacy.statement import Statement
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.base_agreement import read_agreement
from discreet.silos.shared.messages import max_bytes
from discreet.silos.shared.model_message import decode_model
from discreet.silos.shared.prototype_agreement import PrototypeAgreement
from discreet.silos.shared.prototype_messages import decode_prototype_model, largest
from discreet.silos.shared.seal import SEAL_BYTES

__all__ = ["AnyAgreement", "largest_message", "load_agreement", "open_model", "parse_agreement"]

AnyAgreement: TypeAlias = Agreement | PrototypeAgreement


def load_agreement(path: str | os.PathLike[str]) -> AnyAgreement:
    """Read an agreement of either method, checked."""
    return parse_agreement(read_agreement(path))


def parse_agreement(text: bytes) -> AnyAgreement:
    """An agreement of either method from the text of its file, checked."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if isinstance(content, dict) and content.get("method") == "prototypes":
        return PrototypeAgreement.parse(text)
    return Agreement.parse(text)


def largest_message(agreement: AnyAgreement) -> int:
    """Bytes of the largest message of a run, in either direction, with its signature."""
    if isinstance(agreement, PrototypeAgreement):
        return SEAL_BYTES + largest(agreement)
    return SEAL_BYTES + max_bytes(agreement)


def open_model(body: bytes, agreement: AnyAgreement, catalogue: Catalogue, own: Statement | None) -> Model:
    """The model that came down at the end; refuses what is none of this run, or promises too much.

    Parameters
    ----------
    own
        What the silo's users have paid by the silo's own account; ``None`` where they have paid nothing. Sums are
        held to the agreement, whose whole budget their statement must give; prototypes to what was paid for them.
    """
    if isinstance(agreement, PrototypeAgreement):
        return decode_prototype_model(body, agreement, catalogue, own)
    return decode_model(body, agreement, catalogue)
