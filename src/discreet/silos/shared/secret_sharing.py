"""Shamir's secret sharing: any ``threshold`` of the shares give the secret, and fewer say nothing at all about it.

A secret is the value at 0 of a polynomial of degree ``threshold`` - 1 with random coefficients over the integers modulo
a prime; the share at place x is its value at x. Whatever ``threshold`` - 1 places hold, exactly one polynomial fits it
and any secret.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

__all__ = ["PRIME", "SECRET_BYTES", "SHARE_BYTES", "deal", "recover"]

SECRET_BYTES = 32
PRIME = 2**256 + 297
"""The smallest prime that is larger than every secret."""
SHARE_BYTES = 33


def deal(secret: bytes, shares: int, threshold: int) -> list[bytes]:
    """Shares at places 1, 2, ..., of which any ``threshold`` give the secret."""
    if len(secret) != SECRET_BYTES or not 1 <= threshold <= shares < PRIME:
        raise ValueError("a secret has 32 bytes, and no more shares are needed than there are")
    polynomial = [int.from_bytes(secret), *(secrets.randbelow(PRIME) for _ in range(threshold - 1))]
    return [_value(polynomial, place).to_bytes(SHARE_BYTES) for place in range(1, shares + 1)]


def recover(shares: Mapping[int, bytes]) -> bytes | None:
    """The secret from as many shares, by their places, as its threshold; ``None`` where they are of no secret."""
    secret = 0
    for place, share in shares.items():
        above = below = 1
        for other in shares:
            if other != place:
                above, below = above * other % PRIME, below * (other - place) % PRIME
        secret += int.from_bytes(share) * above * pow(below, -1, PRIME)
    secret %= PRIME
    return secret.to_bytes(SECRET_BYTES) if secret < 1 << 8 * SECRET_BYTES else None


def _value(polynomial: list[int], place: int) -> int:
    value = 0
    for coefficient in reversed(polynomial):
        value = (value * place + coefficient) % PRIME
    return value
