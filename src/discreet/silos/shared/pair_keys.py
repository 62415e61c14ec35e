"""What two silos say to each other through the server about one question: sealed shares, and countersignatures.

All keys follow from the pair's X25519 secret, the agreement and the question's digest; each serves one use in one
direction. A silo is its own pair too, so that its own share lies in the same place as the others'. Proof note:
``proofs/lost_silos.md``.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

from discreet.errors import Refused
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.masks import derive_key, mask_key

__all__ = ["MAC_BYTES", "SEALED_EXTRA", "PairKeys"]

MAC_BYTES = 32
_NONCE, _TAG = 12, 16
SEALED_EXTRA = _NONCE + _TAG
"""Bytes that sealing adds."""
_SHARES, _COUNTERSIGN = b"discreet shares 1", b"discreet countersign 1"


class PairKeys:
    """One silo's keys with the others, for one question.

    Parameters
    ----------
    agreement, name, private
        What was agreed, who this silo is, and its mask key.
    question
        Digest of the question, in hex.
    """

    def __init__(self, agreement: Agreement, name: str, private: bytes, question: str) -> None:
        self._public, self._name, self._private = agreement.silos, name, private
        self._salt, self._context = bytes.fromhex(agreement.digest), bytes.fromhex(question)

    def mask(self, peer: str) -> bytes:
        """Key of the mask that both have in the sum."""
        key = self._public[peer]
        return mask_key(self._private, self._name, peer, key, salt=self._salt, context=self._context)

    def seal(self, recipient: str, content: bytes) -> bytes:
        """For the recipient's eyes alone, and known to come from this silo."""
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        # Random: a second store of this silo has the same key and other content.
        nonce = secrets.token_bytes(_NONCE)
        key = self._derive(_SHARES, recipient, self._name, recipient)
        return nonce + ChaCha20Poly1305(key).encrypt(nonce, content, None)

    def open(self, dealer: str, sealed: bytes) -> bytes:
        """What the dealer has sealed for this silo and this question; refuses anything else."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        key = self._derive(_SHARES, dealer, dealer, self._name)
        try:
            return ChaCha20Poly1305(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], None)
        except InvalidTag:
            raise Refused(
                f"the shares in the name of {dealer} are not what it sealed for this question"
            ) from None

    def countersign(self, recipient: str, text: bytes) -> bytes:
        """A signature that the recipient alone can check, over a text that this silo stands by."""
        key = self._derive(_COUNTERSIGN, recipient, self._name, recipient)
        return hmac.digest(key, text, hashlib.sha256)

    def is_countersigned(self, signer: str, text: bytes, signature: bytes) -> bool:
        """Whether the signer has countersigned the text for this silo."""
        key = self._derive(_COUNTERSIGN, signer, signer, self._name)
        return hmac.compare_digest(hmac.digest(key, text, hashlib.sha256), signature)

    def _derive(self, use: bytes, peer: str, sender: str, recipient: str) -> bytes:
        parts = (use, self._context, sender.encode(), recipient.encode())
        return derive_key(self._private, peer, self._public[peer], salt=self._salt, parts=parts)
