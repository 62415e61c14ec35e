"""The rotated one-bit mechanism for many devices at once, and the estimate that a server makes of the answers.

A device in plain Python (:mod:`discreet.devices.device.answer`) and this give the same bits for the same coin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.devices.device.answer import flip_threshold
from discreet.devices.device.question import Question
from discreet.devices.device.released import Released
from discreet.errors import SettingsInvalid
from discreet.kernels.threads import claim, share
from discreet.privacy.local.coin import Coin
from discreet.privacy.local.rotation import DeviceIds, exact_kernel, packed_signs, places
from discreet.types import Floats

__all__ = ["Rows", "answers", "respond", "truths"]

Rows = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], Floats]
"""Ratings of many devices: ``indptr``, ``items`` (rising within a device), ``values``."""


def answers(
    question: Question,
    rows: Rows,
    device_ids: DeviceIds,
    released: Released | None = None,
    coin: Coin | None = None,
) -> npt.NDArray[np.uint8]:
    """One bit for each device, as :func:`discreet.devices.device.answer.answer` gives it.

    All devices handed in are asked; whoever is no participant must be left out before.
    """
    values = truths(question, rows, device_ids, released)
    coin = Coin() if coin is None else coin
    return respond(values, question.epsilon, coin.words(len(values)))


def respond(values: Floats, epsilon: float, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
    """Randomised response on the sign of each value; ties are decided by the coin."""
    bits = np.where(values == 0.0, words & np.uint64(1), values > 0.0).astype(np.uint8)
    flips = (words >> np.uint64(1)) < np.uint64(flip_threshold(epsilon))
    return bits ^ flips.astype(np.uint8)


def truths(question: Question, rows: Rows, device_ids: DeviceIds, released: Released | None = None) -> Floats:
    """Each device's coordinate of its rotated vector, up to a positive factor. Private: not to be released."""
    indptr, items, values = rows
    if question.kind != "factors":
        released = Released(0, question.items)
    elif released is None or (released.items, released.rank) != (question.items, question.rank):
        raise SettingsInvalid("a question about factors needs a released item side of the same size and rank")
    rotation, coordinate = places(question, device_ids)
    if len(rotation) != len(indptr) - 1:
        raise SettingsInvalid(f"{len(rotation)} pseudonyms were given for {len(indptr) - 1} devices")
    out = np.empty(len(rotation))
    m, rank = question.items, released.rank
    share(
        _truths,
        len(out),
        float(len(items)) * (1 + rank) ** 2,
        ("popularity", "offsets", "factors").index(question.kind),
        np.ascontiguousarray(indptr, np.int64),
        np.ascontiguousarray(items, np.int32),
        np.ascontiguousarray(values, np.float64),
        np.asarray(released.offsets, np.float64) if released.offsets else np.zeros(m),
        np.asarray(released.factors, np.float64).reshape(m, rank),
        np.array([released.centre, released.offset_penalty, released.factor_penalty]),
        packed_signs(question),
        rotation,
        coordinate,
        out,
    )
    return out


@exact_kernel
def _truths(
    counter: Any,
    grain: int,
    kind: int,
    indptr: Any,
    items: Any,
    values: Any,
    offsets: Any,
    factors: Any,
    rule: Any,
    signs: Any,
    rotation: Any,
    coordinate: Any,
    out: Any,
) -> None:
    rank = factors.shape[1]
    matrix = np.empty((rank + 1, rank + 1))
    own = np.empty(rank + 1)
    row = np.empty(rank + 1)
    first = claim(counter, grain)
    while first < len(out):
        for i in range(first, min(first + grain, len(out))):
            start, stop = indptr[i], indptr[i + 1]
            bits, place = signs[rotation[i]], coordinate[i]
            total = 0.0
            if kind > 0:
                _own(items[start:stop], values[start:stop], offsets, factors, rule, matrix, row, own)
            for p in range(start, stop):
                item = np.int64(items[p])
                if kind == 0:
                    total += -1.0 if _minus(bits, item, place) else 1.0
                    continue
                rest = values[p] - rule[0] - offsets[item] - own[0]
                for d in range(rank):
                    rest -= own[d + 1] * factors[item, d]
                if kind == 1:
                    total += -rest if _minus(bits, item, place) else rest
                    continue
                for d in range(rank):
                    value = rest * own[d + 1]
                    total += -value if _minus(bits, item * rank + d, place) else value
            out[i] = total
        first = claim(counter, grain)


@exact_kernel
def _minus(bits: Any, index: Any, place: Any) -> Any:
    both = index & place
    both ^= both >> 32
    both ^= both >> 16
    both ^= both >> 8
    both ^= both >> 4
    both ^= both >> 2
    both ^= both >> 1
    sign = bits[index >> 3] >> (7 - (index & 7))
    return ((sign ^ both) & 1) == 1


@exact_kernel
def _own(
    items: Any, values: Any, offsets: Any, factors: Any, rule: Any, matrix: Any, row: Any, own: Any
) -> None:
    """`discreet.devices.device.own.own_coefficients`, operation for operation."""
    size = len(own)
    own[:] = 0.0
    matrix[:] = 0.0
    row[0] = 1.0
    if len(items) == 0:
        return
    for p in range(len(items)):
        target = values[p] - rule[0] - offsets[items[p]]
        for d in range(size - 1):
            row[d + 1] = factors[items[p], d]
        for i in range(size):
            own[i] += row[i] * target
            for j in range(i + 1):
                matrix[i, j] += row[i] * row[j]
    matrix[0, 0] += rule[1]
    for i in range(1, size):
        matrix[i, i] += rule[2]
    for i in range(size):
        for j in range(i):
            for k in range(j):
                matrix[i, j] -= matrix[i, k] * matrix[j, k] * matrix[k, k]
            matrix[i, j] /= matrix[j, j]
        for k in range(i):
            matrix[i, i] -= matrix[i, k] * matrix[i, k] * matrix[k, k]
    for i in range(size):
        for k in range(i):
            own[i] -= matrix[i, k] * own[k]
    for i in range(size - 1, -1, -1):
        own[i] /= matrix[i, i]
        for k in range(i + 1, size):
            own[i] -= matrix[k, i] * own[k]
