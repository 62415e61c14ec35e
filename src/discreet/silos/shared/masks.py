"""Sums modulo 2^64 under pairwise masks: a server that adds all vectors of a round sees their sum and nothing else.

Every pair of silos shares a secret (X25519 with the public keys of the agreement, so no server can sit between
them). From it and the round's context both derive the same stream (HKDF-SHA256, ChaCha20); the one whose name comes
first adds it, the other subtracts it. Proof note: ``proofs/federated.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from discreet.errors import Refused, SettingsInvalid
from discreet.types import Ints, Words

__all__ = [
    "from_totals",
    "generate_key",
    "joined",
    "key_stream",
    "mask",
    "mask_key",
    "noise_secret",
    "public_key",
    "to_totals",
]

_KEY_BYTES = 32


def generate_key() -> bytes:
    """A silo's private key, 32 bytes. It never leaves the silo."""
    return X25519PrivateKey.generate().private_bytes_raw()


def public_key(private: bytes) -> str:
    """The public half, in hex, as the agreement lists it."""
    return _private(private).public_key().public_bytes_raw().hex()


def mask(
    private: bytes, name: str, peers: Mapping[str, str], *, salt: bytes, context: bytes, size: int
) -> Words:
    """What silo ``name`` adds to its vector."""
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
    own, (first, second) = _private(private), sorted((name, peer))
    try:
        shared = own.exchange(X25519PublicKey.from_public_bytes(bytes.fromhex(key)))
    except ValueError:
        raise Refused(f"the public key of {peer} in the agreement is not a usable X25519 key") from None
    info = joined((b"discreet mask 1", context, first.encode(), second.encode()))
    return HKDF(SHA256(), 32, salt, info).derive(shared)


def noise_secret(private: bytes, *, salt: bytes, context: bytes, totals: bytes) -> bytes:
    """Secret of a silo's noise in one answer: its own key, what was asked, and the exact totals that it hides.

    Proof note: ``privacy/gaussian/proofs/keyed.md``.
    """
    _private(private)
    info = joined((b"discreet noise 1", context, totals))
    return HKDF(SHA256(), 32, salt, info).derive(private)


def key_stream(key: bytes, size: int) -> Words:
    """Numbers modulo 2^64 that nobody without the key can tell from random ones."""
    # The key serves this one stream, so the nonce may be zero.
    encryptor = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor()
    return np.frombuffer(encryptor.update(bytes(8 * size)), dtype="<u8").astype(np.uint64, copy=False)


def from_totals(totals: Sequence[Ints]) -> Words:
    """Blocks of integers as one vector modulo 2^64."""
    # A float is refused, not taken for the integer that has its bits.
    flat = np.concatenate([total.ravel() for total in totals], dtype=np.int64, casting="safe")
    return flat.view(np.uint64)


def to_totals(vector: Words, shapes: Sequence[tuple[int, ...]]) -> list[Ints]:
    """The blocks back from the sum of all vectors."""
    parts = np.split(vector.view(np.int64), np.cumsum([prod(shape) for shape in shapes])[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def joined(parts: Sequence[bytes]) -> bytes:
    """Every part with its length, so that no two contexts run together to the same bytes."""
    return b"".join(len(part).to_bytes(4, "little") + part for part in parts)


def _private(private: bytes) -> X25519PrivateKey:
    if len(private) != _KEY_BYTES:
        raise SettingsInvalid(f"a private key has {_KEY_BYTES} bytes, this one has {len(private)}")
    return X25519PrivateKey.from_private_bytes(private)
