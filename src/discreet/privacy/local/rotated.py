"""The rotated one-bit mechanism for many devices at once (``proofs/rotated.md``).

A device in plain Python (:mod:`discreet.devices.device.answer`) and this give the same bits for the same coin.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.devices.device.item_side import DeviceItemSide
from discreet.devices.device.question import KINDS, Question
from discreet.errors import SettingsInvalid
from discreet.kernels import device_coordinates
from discreet.privacy.local.coin import Coin
from discreet.privacy.local.randomised_response import respond_to_sign
from discreet.privacy.local.rotation import DeviceIds, packed_signs, places
from discreet.types import Floats

__all__ = ["Rows", "answers", "truths"]

Rows = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], Floats]
"""Ratings of many devices: ``indptr``, ``items`` (rising within a device), ``values``."""


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
