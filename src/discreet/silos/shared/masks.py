"""Sums modulo 2^64 under pairwise masks: a server that adds all vectors of a round sees their sum and nothing else.

Every pair of silos shares a secret (X25519 with the public keys of the agreement, so no server can sit between
them). From it and the round's context both derive the same stream (HKDF-SHA256, ChaCha20); the one whose name comes
first adds it, the other subtracts it. Proof note: ``proofs/federated.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.errors import Refused, SettingsInvalid
from discreet.types import Ints, Words

__all__ = [
    "derive_key",
    "from_totals",
    "generate_key",
    "key_stream",
    "mask",
    "mask_key",
    "noise_secret",
    "public_key",
    "to_totals",
]


KEY_BYTES = 32


def generate_key() -> bytes:
    """A silo's private key, 32 bytes. It never leaves the silo."""
    private: bytes = _crypto().X25519PrivateKey.generate().private_bytes_raw()
    return private


def public_key(private: bytes) -> str:
    """The public half, in hex, as the agreement lists it."""
    return str(_private(private).public_key().public_bytes_raw().hex())


def mask(
    private: bytes, name: str, peers: Mapping[str, str], *, salt: bytes, context: bytes, size: int
) -> Words:
    """What silo ``name`` adds to its vector.

    Parameters
    ----------
    private, name
        The silo's own.
    peers
        Public key (hex) of each silo whose vector goes into the same sum; the silo's own is passed over.
    salt, context
        The run, and everything that must agree between the silos of the sum. One pair of them masks one vector only.
    size
        Length of the vector.
    """
    total = np.zeros(size, dtype=np.uint64)
    for peer, key in sorted(peers.items()):
        if peer == name:
            continue
        stream = key_stream(mask_key(private, name, peer, key, salt=salt, context=context), size)
        if name < peer:
            total += stream
        else:
            total -= stream
    return total


def mask_key(private: bytes, name: str, peer: str, key: str, *, salt: bytes, context: bytes) -> bytes:
    """Of the stream that two silos share in one sum; whoever has it can take the stream off."""
    first, second = sorted((name, peer))
    return derive_key(
        private, peer, key, salt=salt, parts=(b"discreet mask 1", context, first.encode(), second.encode())
    )


def derive_key(private: bytes, peer: str, key: str, *, salt: bytes, parts: Sequence[bytes]) -> bytes:
    """A key that two silos have and nobody else; the first part says for what, and each use has parts of its own."""
    crypto, shared = _crypto(), _shared(_private(private), peer, key)
    derived: bytes = crypto.HKDF(crypto.SHA256(), 32, salt, _joined(parts)).derive(shared)
    return derived


def noise_secret(private: bytes, *, salt: bytes, context: bytes, totals: bytes) -> bytes:
    """Secret of a silo's noise in one answer: its own key, what was asked, and the exact totals that it hides.

    Proof note: ``privacy/gaussian/proofs/keyed.md``.
    """
    _private(private)
    crypto, info = _crypto(), _joined((b"discreet noise 1", context, totals))
    derived: bytes = crypto.HKDF(crypto.SHA256(), 32, salt, info).derive(private)
    return derived


def key_stream(key: bytes, size: int) -> Words:
    """Numbers modulo 2^64 that nobody without the key can tell from random ones."""
    crypto = _crypto()
    # The key serves this one stream, so the nonce may be zero.
    encryptor = crypto.Cipher(crypto.ChaCha20(key, bytes(16)), mode=None).encryptor()
    return np.frombuffer(encryptor.update(bytes(8 * size)), dtype="<u8").astype(np.uint64, copy=False)


def from_totals(totals: Sequence[Ints]) -> Words:
    """Blocks of integers as one vector modulo 2^64."""
    # A float is refused, not taken for the integer that has its bits.
    flat = np.concatenate([total.ravel() for total in totals], dtype=np.int64, casting="safe")
    return flat.view(np.uint64)


def to_totals(vector: Words, shapes: Sequence[tuple[int, ...]]) -> list[Ints]:
    """The blocks back from the sum of all vectors."""
    signed, start, totals = vector.view(np.int64), 0, []
    for shape in shapes:
        size = int(np.prod(shape))
        totals.append(signed[start : start + size].reshape(shape))
        start += size
    return totals


def _joined(parts: Sequence[bytes]) -> bytes:
    """Every part with its length, so that no two contexts run together to the same bytes."""
    return b"".join(len(part).to_bytes(4, "little") + part for part in parts)


def _shared(own: Any, peer: str, key: str) -> bytes:
    crypto = _crypto()
    try:
        shared: bytes = own.exchange(crypto.X25519PublicKey.from_public_bytes(bytes.fromhex(key)))
    except ValueError:
        raise Refused(f"the public key of {peer} in the agreement is not a usable X25519 key") from None
    return shared


def _private(private: bytes) -> Any:
    if len(private) != KEY_BYTES:
        raise SettingsInvalid(f"a private key has {KEY_BYTES} bytes, this one has {len(private)}")
    return _crypto().X25519PrivateKey.from_private_bytes(private)


class _Crypto:
    """The few names of `cryptography` that are used here."""

    def __init__(self) -> None:
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        self.X25519PrivateKey, self.X25519PublicKey = X25519PrivateKey, X25519PublicKey
        self.Cipher, self.ChaCha20, self.SHA256, self.HKDF = Cipher, ChaCha20, SHA256, HKDF


def _crypto() -> _Crypto:
    try:
        return _Crypto()
    except ImportError:
        raise SettingsInvalid(
            "training over silos masks its sums with the package `cryptography`, which is not installed; "
            'install it with: pip install "discreet[silos]"'
        ) from None
