"""Ed25519 signatures: who has said what, whatever carried it."""

from __future__ import annotations

from typing import Any

from discreet.errors import SettingsInvalid

__all__ = ["SIGNATURE_BYTES", "generate_signing_key", "is_signed", "sign", "signing_public_key"]

SIGNATURE_BYTES = 64
_KEY_BYTES = 32


def generate_signing_key() -> bytes:
    """A party's private signing key, 32 bytes. It never leaves the party."""
    private: bytes = _ed25519().Ed25519PrivateKey.generate().private_bytes_raw()
    return private


def signing_public_key(private: bytes) -> str:
    """The public half, in hex, as the agreement lists it."""
    return str(_private(private).public_key().public_bytes_raw().hex())


def sign(private: bytes, *parts: bytes) -> bytes:
    """Signature over all parts, each with its length, so that no two lists run together to the same bytes."""
    signature: bytes = _private(private).sign(_joined(parts))
    return signature


def is_signed(public: str, signature: bytes, *parts: bytes) -> bool:
    """Whether whoever has the private half of this key has signed these parts."""
    from cryptography.exceptions import InvalidSignature

    try:
        key = _ed25519().Ed25519PublicKey.from_public_bytes(bytes.fromhex(public))
        key.verify(signature, _joined(parts))
    except (InvalidSignature, ValueError):
        return False
    return True


def _joined(parts: tuple[bytes, ...]) -> bytes:
    return b"".join(len(part).to_bytes(4, "little") + part for part in parts)


def _private(private: bytes) -> Any:
    if len(private) != _KEY_BYTES:
        raise SettingsInvalid(f"a signing key has {_KEY_BYTES} bytes, this one has {len(private)}")
    return _ed25519().Ed25519PrivateKey.from_private_bytes(private)


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise SettingsInvalid(
            "messages between organisations are signed with the package `cryptography`, which is not installed; "
            'install it with: pip install "discreet[silos]"'
        ) from None
    return ed25519
