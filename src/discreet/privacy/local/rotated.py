"""The rotated one-bit mechanism for many devices at once (``proofs/rotated.md``).

A device in plain Python (:mod:`discreet.devices.device.answer`, :mod:`discreet.devices.device.question`) defines signs,
places and answers, and stands alone; this gives the same bits for the same coin.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.devices.device.answer import flip_threshold
from discreet.devices.device.item_side import DeviceItemSide
from discreet.devices.device.question import DEVICE_ID_BYTES, KINDS, Question
from discreet.errors import SettingsInvalid
from discreet.kernels.devices import device_coordinates
from discreet.privacy.gaussian.noise import own_noise
from discreet.types import Floats

__all__ = [
    "Coin",
    "DeviceIds",
    "Rows",
    "answers",
    "as_ids",
    "packed_signs",
    "participants",
    "places",
    "respond_to_sign",
    "truths",
]

DeviceIds: TypeAlias = npt.NDArray[np.uint8] | Sequence[bytes]
Rows = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], Floats]
"""Ratings of many devices: ``indptr``, ``items`` (rising within a device), ``values``."""


@own_noise
class Coin:
    """Unpredictable random words from the operating system.

    Parameters
    ----------
    key
        Leave it out. With a key the words repeat, and :attr:`fixed` says so to the statement.
    """

    def __init__(self, *, key: int | None = None) -> None:
        self._stream = None if key is None else np.random.Generator(np.random.PCG64(key))

    @classmethod
    def fixed_key_not_private(cls, key: int) -> Coin:
        """A repeatable coin for tests. Whoever knows the key knows which answers were flipped: nothing is private."""
        return cls(key=key)

    @property
    def fixed(self) -> bool:
        """Whether the words repeat, which voids every privacy statement."""
        return self._stream is not None

    def words(self, size: int) -> npt.NDArray[np.uint64]:
        """``size`` independent uniform words."""
        if self._stream is None:
            return np.frombuffer(os.urandom(8 * size), dtype=np.uint64)
        return self._stream.integers(0, 1 << 64, size, dtype=np.uint64)


def answers(
    question: Question,
    rows: Rows,
    device_ids: DeviceIds,
    side: DeviceItemSide | None = None,
    coin: Coin | None = None,
) -> npt.NDArray[np.uint8]:
    """One bit for each device, as :func:`discreet.devices.device.answer.answer` gives it.

    All devices handed in are asked; whoever is no participant must be left out before.
    """
    values = truths(question, rows, device_ids, side)
    coin = Coin() if coin is None else coin
    return respond_to_sign(values, question.epsilon, coin.words(len(values)))


def truths(
    question: Question, rows: Rows, device_ids: DeviceIds, side: DeviceItemSide | None = None
) -> Floats:
    """Each device's coordinate of its rotated vector, up to a positive factor. Private: not to be released."""
    if question.kind != "factors":
        side = DeviceItemSide(0, question.items)
    elif side is None or (side.items, side.rank) != (question.items, question.rank):
        raise SettingsInvalid("a question about factors needs a released item side of the same size and rank")
    place = places(question, device_ids)
    devices = len(rows[0]) - 1
    if len(place[0]) != devices:
        raise SettingsInvalid(f"{len(place[0])} pseudonyms were given for {devices} devices")
    arrays = (
        np.asarray(side.offsets, np.float64) if side.offsets else np.zeros(side.items),
        np.asarray(side.factors, np.float64).reshape(side.items, side.rank),
        np.array([side.centre, side.offset_penalty, side.factor_penalty]),
    )
    return device_coordinates(KINDS.index(question.kind), rows, arrays, packed_signs(question), place)


def respond_to_sign(values: Floats, epsilon: float, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
    """One bit, 0 or 1, for the sign of each value; ties are decided by the coin.

    Notes
    -----
    **Privacy.** Unit: one device. Relation: its value becomes any other. The chance of either bit is between
    1 / (1 + e^epsilon) and e^epsilon / (1 + e^epsilon) whatever the value.
    """
    bits = np.where(values == 0.0, words & np.uint64(1), values > 0.0).astype(np.uint8)
    flips = (words >> np.uint64(1)) < np.uint64(flip_threshold(epsilon))
    return bits ^ flips.astype(np.uint8)


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
