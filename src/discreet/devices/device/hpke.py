"""Seal a message to a public key with the standard library alone: HPKE, RFC 9180, base mode, one message a key.

Suite: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305. Only sealing is here; who opens has a library.
Python's whole numbers do not take the same time for all values. That matters little: the secret scalar is drawn for one
message, is used twice, and nothing here depends on anything but it and the message's length.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

__all__ = ["KEY_BYTES", "OVERHEAD", "SealInvalid", "chacha20_poly1305", "seal", "x25519"]

KEY_BYTES = 32
OVERHEAD = 48
"""Bytes that sealing adds: the sender's one-time public key and a tag."""

_P = 2**255 - 19
_KEM = b"KEM" + (0x0020).to_bytes(2, "big")
_SUITE = b"HPKE" + b"".join(number.to_bytes(2, "big") for number in (0x0020, 0x0001, 0x0003))
_BASE_POINT = (9).to_bytes(32, "little")


class SealInvalid(ValueError):
    """A public key cannot be used to seal."""


def seal(public_key: bytes, info: bytes, message: bytes, scalar: bytes | None = None) -> bytes:
    """One-time public key and ciphertext; only the holder of the private key can open it, and only with this ``info``.

    Parameters
    ----------
    public_key
        Of the receiver, 32 bytes.
    info
        What the message belongs to; the receiver must name the same.
    message
        What to hide; its length stays visible.
    scalar
        Leave it out. The one-time private key, for tests against published vectors.
    """
    if len(public_key) != KEY_BYTES:
        raise SealInvalid(f"a public key has {KEY_BYTES} bytes, this one {len(public_key)}")
    own = secrets.token_bytes(32) if scalar is None else scalar
    sent = x25519(own, _BASE_POINT)
    shared = x25519(own, public_key)
    if not any(shared):
        raise SealInvalid("this public key is none: it makes the same secret with everybody")
    secret = _expand(_KEM, _extract(_KEM, b"", b"eae_prk", shared), b"shared_secret", sent + public_key, 32)
    context = b"\0" + _extract(_SUITE, b"", b"psk_id_hash", b"") + _extract(_SUITE, b"", b"info_hash", info)
    schedule = _extract(_SUITE, secret, b"secret", b"")
    key = _expand(_SUITE, schedule, b"key", context, 32)
    nonce = _expand(_SUITE, schedule, b"base_nonce", context, 12)
    return sent + chacha20_poly1305(key, nonce, message)


def x25519(scalar: bytes, point: bytes) -> bytes:
    """RFC 7748, section 5: the Montgomery ladder."""
    k = int.from_bytes(scalar, "little") & ~7 & (1 << 255) - 1 | 1 << 254
    x1 = int.from_bytes(point, "little") & (1 << 255) - 1
    x2, z2, x3, z3, swapped = 1, 0, x1, 1, 0
    for place in range(254, -1, -1):
        bit = k >> place & 1
        if swapped ^ bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swapped = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a % _P, b * b % _P, d * a % _P, c * b % _P
        e = aa - bb
        x3, z3 = (da + cb) ** 2 % _P, x1 * (da - cb) ** 2 % _P
        x2, z2 = aa * bb % _P, e * (aa + 121665 * e) % _P
    if swapped:
        x2, z2 = x3, z3
    return (x2 * pow(z2, _P - 2, _P) % _P).to_bytes(32, "little")


def chacha20_poly1305(key: bytes, nonce: bytes, message: bytes) -> bytes:
    """RFC 8439, section 2.8, without further data: ciphertext and tag."""
    stream = b"".join(_block(key, number, nonce) for number in range(1 + -(-len(message) // 64)))
    sealed = bytes(one ^ other for one, other in zip(message, stream[64:], strict=False))
    padded = sealed + bytes(-len(sealed) % 16) + bytes(8) + len(sealed).to_bytes(8, "little")
    return sealed + _poly1305(stream[:32], padded)


def _block(key: bytes, number: int, nonce: bytes) -> bytes:
    start = b"expand 32-byte k" + key + number.to_bytes(4, "little") + nonce
    before = [int.from_bytes(start[place : place + 4], "little") for place in range(0, 64, 4)]
    state = list(before)
    for _ in range(10):
        for column in range(4):
            _quarter(state, column, column + 4, column + 8, column + 12)
        for column in range(4):
            _quarter(state, column, (column + 1) % 4 + 4, (column + 2) % 4 + 8, (column + 3) % 4 + 12)
    return b"".join(
        (one + other & 0xFFFFFFFF).to_bytes(4, "little") for one, other in zip(state, before, strict=True)
    )


def _quarter(state: list[int], a: int, b: int, c: int, d: int) -> None:
    for to, add, turn, shift in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        state[to] = state[to] + state[add] & 0xFFFFFFFF
        word = state[turn] ^ state[to]
        state[turn] = (word << shift | word >> 32 - shift) & 0xFFFFFFFF


def _poly1305(key: bytes, message: bytes) -> bytes:
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for start in range(0, len(message), 16):
        total = (total + int.from_bytes(message[start : start + 16] + b"\1", "little")) * r % (2**130 - 5)
    return (total + int.from_bytes(key[16:], "little") & (1 << 128) - 1).to_bytes(16, "little")


def _extract(suite: bytes, salt: bytes, label: bytes, material: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + material, hashlib.sha256)


def _expand(suite: bytes, key: bytes, label: bytes, info: bytes, length: int) -> bytes:
    """HKDF-Expand of one block, which is all that is asked for here."""
    full = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(key, full + b"\1", hashlib.sha256)[:length]
