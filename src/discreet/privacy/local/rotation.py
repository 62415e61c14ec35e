"""The public part of the one-bit mechanism: the signs of every rotation, and the place of every device in them.

The definition is the device's (:mod:`discreet.devices.device.question`); this is the same for many devices at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.devices.device.question import DEVICE_ID_BYTES, Question
from discreet.errors import SettingsInvalid

__all__ = ["DeviceIds", "as_ids", "packed_signs", "participants", "places"]

DeviceIds: TypeAlias = npt.NDArray[np.uint8] | Sequence[bytes]


def as_ids(device_ids: DeviceIds) -> npt.NDArray[np.uint8]:
    """Pseudonyms as an array of users x 16 bytes."""
    if isinstance(device_ids, np.ndarray):
        ids = np.ascontiguousarray(device_ids, dtype=np.uint8)
    else:
        if any(len(one) != DEVICE_ID_BYTES for one in device_ids):
            raise SettingsInvalid(f"a device's pseudonym is {DEVICE_ID_BYTES} bytes")
        ids = np.frombuffer(b"".join(device_ids), dtype=np.uint8).reshape(-1, DEVICE_ID_BYTES)
    if ids.ndim != 2 or ids.shape[1] != DEVICE_ID_BYTES:
        raise SettingsInvalid(f"pseudonyms are rows of {DEVICE_ID_BYTES} bytes, not of the shape {ids.shape}")
    return ids


def participants(question: Question, device_ids: DeviceIds) -> npt.NDArray[np.bool_]:
    """Which devices are asked (:meth:`Question.takes_part`)."""
    ids = as_ids(device_ids).tobytes()
    chosen = (question.takes_part(ids[start : start + 16]) for start in range(0, len(ids), 16))
    return np.fromiter(chosen, dtype=np.bool_, count=len(ids) // 16)


def places(question: Question, device_ids: DeviceIds) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Rotation and coordinate of every device (:meth:`Question.place`)."""
    ids = as_ids(device_ids).tobytes()
    start = hashlib.sha256(
        b"discreet/place/" + bytes.fromhex(question.seed) + question.round.to_bytes(4, "big")
    )
    heads = bytearray()
    for position in range(0, len(ids), 16):
        one = start.copy()
        one.update(ids[position : position + 16])
        heads += one.digest()[:16]
    words = np.frombuffer(bytes(heads), dtype=">u8").reshape(-1, 2).astype(np.uint64)
    rotation = words[:, 0] % np.uint64(question.rotations)
    coordinate = words[:, 1] % np.uint64(question.dimension)
    return rotation.astype(np.int32), coordinate.astype(np.int64)


def packed_signs(question: Question) -> npt.NDArray[np.uint8]:
    """Signs of all rotations as bits, rotations x bytes; bit ``j`` most significant first, 1 means minus."""
    blocks = -(-question.dimension // 256)
    rows = [
        b"".join(question.sign_block(rotation, block) for block in range(blocks))
        for rotation in range(question.rotations)
    ]
    return np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(question.rotations, 32 * blocks)
