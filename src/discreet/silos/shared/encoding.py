"""One message as bytes: a mark, a JSON header of bounded size, and raw arrays. Nothing is ever unpickled.

4 bytes   mark of the kind of message
4 bytes   length of the header, little endian
header    JSON; lists name and shape of every array in order
arrays    8 bytes a number, little endian, one after another; nothing may follow but the body of a model or prototypes
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.errors import Refused

__all__ = ["Header", "decode", "encode"]

_MOST_HEADER = 1 << 20
_PREFIX = 8
_Array = npt.NDArray[Any]


class Header(BaseModel):
    """What every header has: which arrays follow. Frozen, strict, nothing unknown, no infinities."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    arrays: Annotated[
        list[
            tuple[
                Annotated[str, Field(max_length=64)],
                Annotated[list[Annotated[int, Field(ge=0, lt=2**40)]], Field(max_length=3)],
            ]
        ],
        Field(max_length=256),
    ]


H = TypeVar("H", bound=Header)


def encode(
    mark: bytes,
    header: type[Header],
    facts: Mapping[str, Any],
    arrays: Mapping[str, _Array],
    kind: str = "<f8",
) -> bytes:
    """The message. ``kind`` is ``"<f8"`` or ``"<u8"``."""
    listed = [(name, list(array.shape)) for name, array in arrays.items()]
    text = header(**facts, arrays=listed).model_dump_json().encode()
    parts = [mark, len(text).to_bytes(4, "little"), text]
    parts += [np.ascontiguousarray(array, dtype=kind).tobytes() for array in arrays.values()]
    return b"".join(parts)


def decode(
    body: bytes, mark: bytes, header_type: type[H], most: int, kind: str = "<f8", *, rest: bool = False
) -> tuple[H, dict[str, _Array], bytes]:
    """Header and arrays of a message of at most ``most`` bytes, and what follows them, if something may (``rest``)."""
    if len(body) > most:
        raise Refused(f"a message of {len(body):,} bytes is larger than any in this run ({most:,})")
    if body[:4] != mark:
        raise Refused("this is not a message of the expected kind")
    end = _PREFIX + int.from_bytes(body[4:_PREFIX], "little")
    if not _PREFIX < end <= min(len(body), _PREFIX + _MOST_HEADER):
        raise Refused("the message is cut short or its header is too large")
    try:
        header = header_type.model_validate_json(body[_PREFIX:end])
    except (ValidationError, RecursionError):
        raise Refused("the message's header is not what this version of discreet writes") from None
    sizes = [math.prod(shape) for _, shape in header.arrays]
    names = [name for name, _ in header.arrays]
    over = len(body) - end - 8 * sum(sizes)
    if over < 0 or (over > 0 and not rest) or len(set(names)) < len(names):
        raise Refused("the message's arrays do not match its header")
    arrays, start = {}, end
    for (name, shape), size in zip(header.arrays, sizes, strict=True):
        # Copied: a view would be read-only and out of step with the processor's words.
        flat = np.frombuffer(body, dtype=kind, count=size, offset=start)
        try:
            arrays[name] = flat.reshape(shape).copy()
        except ValueError:  # nothing in it, and more places than can be counted
            raise Refused("the message's arrays do not match its header") from None
        start += 8 * size
    return header, arrays, body[start:]
