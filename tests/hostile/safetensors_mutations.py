"""Safetensors files whose header lies about shapes, offsets, types, names or its own length."""

from __future__ import annotations

import copy
import json
import struct
from random import Random
from typing import Any

from tests.hostile.byte_mutations import damage
from tests.hostile.json_mutations import ODD, mutate_json, mutate_value, text_of

__all__ = ["mutate_safetensors"]

_SHAPES = (
    [],
    [0],
    [2**62],
    [2**31, 2**31, 4],
    [0, 2**62],
    [-1],
    [1.5],
    [2**64],
    [1] * 300,
    ["3"],
    None,
    [3, 4],
)
_OFFSETS = (
    [0, 2**63],
    [2**64 - 8, 2**64],
    [8, 0],
    [-8, 0],
    [0],
    [],
    [0, 0],
    [0, 8, 16],
    None,
    [1, 9],
    [0, 10**30],
)
_TYPES = ("F64", "F32", "F16", "BF16", "I64", "U8", "BOOL", "F8_E4M3", "C64", "", None, 3)
_NUMBERS = (float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324, -0.0, 0.0)


def mutate_safetensors(draw: Random, body: bytes) -> bytes:
    """Bytes of a safetensors file with something wrong."""
    kind = draw.randrange(8)
    if kind < 2:
        return damage(draw, body)
    length = int.from_bytes(body[:8], "little")
    text, arrays = body[8 : 8 + length], body[8 + length :]
    if kind == 2:
        lie = draw.choice((0, 1, length - 1, length + 1, length + 8, len(body), 2**31, 2**63, 2**64 - 1))
        return lie.to_bytes(8, "little") + body[8:]
    if kind == 3 and arrays:
        place = draw.randrange(len(arrays) // 8) * 8
        return (
            body[: 8 + length]
            + arrays[:place]
            + struct.pack("<d", draw.choice(_NUMBERS))
            + arrays[place + 8 :]
        )
    if kind == 4:
        return _framed(mutate_json(draw, text), arrays)
    header = json.loads(text)
    if kind == 5:
        metadata = header["__metadata__"]
        metadata["content"] = text_of(mutate_value(draw, json.loads(metadata["content"])), draw)
    else:
        _lie_about_arrays(draw, header)
    return _framed(text_of(header, draw).encode("utf-8", "surrogatepass"), arrays)


def _lie_about_arrays(draw: Random, header: dict[str, Any]) -> None:
    names = [name for name in header if name != "__metadata__"]
    name = draw.choice(names)
    kind = draw.randrange(5)
    if kind == 0:
        header[name]["shape"] = draw.choice(_SHAPES)
    elif kind == 1:
        header[name]["data_offsets"] = draw.choice(_OFFSETS)
    elif kind == 2:
        header[name]["dtype"] = draw.choice(_TYPES)
    elif kind == 3:
        header[draw.choice(("../../x", "", "side", name + ".0", "__proto__", "\0"))] = header.pop(name)
    else:
        header[name] = copy.deepcopy(draw.choice((header[draw.choice(names)], draw.choice(ODD))))


def _framed(text: bytes, arrays: bytes) -> bytes:
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + arrays
