"""Damage to bytes, whatever they mean."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

__all__ = ["damage"]

Mutation = Callable[[Random, bytes], bytes]


def damage(draw: Random, body: bytes) -> bytes:
    """One kind of damage, drawn at random; now and then it leaves the bytes as they are."""
    return draw.choice(_MUTATIONS)(draw, body)


def _flip(draw: Random, body: bytes) -> bytes:
    changed = bytearray(body)
    for _ in range(draw.choice((1, 1, 1, 2, 8, 64)) if body else 0):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _flip_at_an_end(draw: Random, body: bytes) -> bytes:
    """Headers and footers are where lengths and offsets are."""
    changed, near = bytearray(body), min(len(body), 256)
    for _ in range(draw.choice((1, 2, 4)) if body else 0):
        place = draw.randrange(near)
        changed[draw.choice((place, len(body) - 1 - place))] = draw.choice((0, 1, 0x7F, 0x80, 0xFE, 0xFF))
    return bytes(changed)


def _cut(draw: Random, body: bytes) -> bytes:
    return body[: draw.randrange(len(body) + 1)]


def _cut_out(draw: Random, body: bytes) -> bytes:
    start = draw.randrange(len(body) + 1)
    return body[:start] + body[start + draw.choice((1, 2, 8, 100)) :]


def _insert(draw: Random, body: bytes) -> bytes:
    place = draw.choice((0, len(body), draw.randrange(len(body) + 1)))
    return body[:place] + draw.choice(_SCRAPS) + body[place:]


def _noise(draw: Random, body: bytes) -> bytes:
    return body[: draw.choice((0, 4, 8, 16))] + draw.randbytes(draw.choice((0, 1, 9, 100, 2000)))


def _repeat(draw: Random, body: bytes) -> bytes:
    start, size = draw.randrange(len(body) + 1), draw.choice((1, 8, 60, 1000))
    return body[:start] + body[start : start + size] * draw.choice((2, 3, 50)) + body[start + size :]


def _swap(draw: Random, body: bytes) -> bytes:
    """Two pieces in each other's place."""
    places = sorted(draw.randrange(len(body) + 1) for _ in range(3))
    first, second, third = places
    return body[:first] + body[second:third] + body[first:second] + body[third:]


def _fill(draw: Random, body: bytes) -> bytes:
    start, size = draw.randrange(len(body) + 1), draw.choice((1, 4, 8, 32))
    return body[:start] + draw.choice((b"\0", b"\xff", b"9", b" ")) * size + body[start + size :]


_SCRAPS = (
    *(b" ", b"\n", b"\r\n", b"\t", b"\0", b"\xff", b'"', b",", b"{", b"]", b"-", b"1e999", b"NaN"),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", "\u202e".encode(), b"../" * 8, b"9" * 400, b"[" * 3000),
)
_MUTATIONS: tuple[Mutation, ...] = (
    *(_flip, _flip_at_an_end, _cut, _cut_out, _insert, _noise, _repeat, _swap, _fill),
)
