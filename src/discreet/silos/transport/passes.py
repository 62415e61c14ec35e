"""Who calls: a silo shows its own signature with every request, so that nobody else takes its place at the server.

Questions, answers and the model are signed themselves. A pass only says whose turn a request is; it travels under TLS.
"""

from __future__ import annotations

import re

from discreet.errors import Refused
from discreet.silos.shared.base_agreement import BaseAgreement
from discreet.silos.shared.seal import SERVER, SigningKey, key_of
from discreet.silos.shared.signing import is_signed

__all__ = ["PASS", "holder_of", "pass_of"]

PASS = "Discreet-Silo"
"""Header of every request."""
_DOMAIN = b"discreet pass 1"


def pass_of(key: SigningKey) -> str:
    """What a silo shows in this run."""
    return f"{key.name} {key.sign(_DOMAIN, key.agreement.digest.encode(), key.name.encode()).hex()}"


def holder_of(agreement: BaseAgreement, shown: str) -> str:
    """The silo whose pass this is.

    Raises
    ------
    Refused
        When no silo of the agreement has signed it for this run.
    """
    name, _, signature = shown.partition(" ")
    if name == SERVER or not re.fullmatch("[0-9a-f]{128}", signature):
        raise Refused("this request does not say which silo of the run it comes from")
    parts = _DOMAIN, agreement.digest.encode(), name.encode()
    if not is_signed(key_of(agreement, name), bytes.fromhex(signature), *parts):
        raise Refused(
            f"the pass in the name of {name} is not signed by {name}'s key for this run: compare agreements"
        )
    return name
