"""Certificates tied to signing keys: an authority can name anybody, and only the signing key can endorse a certificate.

Each party signs the certificate that it uses, for this run and in its own name, and shows that signature with every
request and response. TLS proves that the other end has the certificate's key; the endorsement proves that the party
of the agreement says so too. A certificate in the same name from another authority is worth nothing without it.
"""

from __future__ import annotations

import hashlib
import re
import ssl
from pathlib import Path

from discreet.errors import Refused, SettingsInvalid
from discreet.silos.shared.seal import SigningKey, key_of
from discreet.silos.shared.signing import is_signed

__all__ = ["ENDORSEMENT", "Endorsement"]

ENDORSEMENT = "Discreet-Endorsement"
"""Header of every request and response."""
_DOMAIN = b"discreet certificate 1"
_PEM = re.compile("-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


class Endorsement:
    """What one party shows, and how it judges what others show.

    Parameters
    ----------
    key
        The party's own.
    certificate
        File with the certificate it uses, first in its chain.

    Attributes
    ----------
    own
        Hex digits for the header.
    """

    def __init__(self, key: SigningKey, certificate: Path) -> None:
        self._agreement = key.agreement
        found = _PEM.search(certificate.read_text(encoding="ascii", errors="replace"))
        if found is None:
            raise SettingsInvalid(f"{certificate} holds no certificate in PEM")
        self.own = key.sign(*self._parts(key.name, ssl.PEM_cert_to_DER_cert(found[0]))).hex()

    def check(self, name: str, certificate: bytes | None, shown: str) -> None:
        """Refuse a certificate (DER) that the party of this name has not endorsed for this run."""
        who = name or "the server"
        signature = bytes.fromhex(shown) if re.fullmatch("[0-9a-f]{128}", shown) else b""
        parts = self._parts(name, certificate or b"")
        if not signature or not is_signed(key_of(self._agreement, name), signature, *parts):
            raise Refused(
                f"the certificate in the name of {who} is not endorsed by {who}'s signing key in the agreement: it is "
                "somebody else's, or for another run; compare agreements"
            )

    def _parts(self, name: str, certificate: bytes) -> tuple[bytes, ...]:
        digest = hashlib.sha256(certificate).digest()
        return _DOMAIN, self._agreement.digest.encode(), name.encode(), digest
