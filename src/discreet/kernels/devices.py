"""What many simulated devices compute of their own ratings at once, bit for bit as a device in plain Python does.

The definition is ``devices/device/answer.py`` and ``devices/device/item_side.py``; tests compare the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.kernels.compile import exact_kernel
from discreet.kernels.threads import claim, share

__all__ = ["device_coordinates", "walsh_hadamard"]

Array = npt.NDArray[Any]


def device_coordinates(
    kind: int,
    rows: tuple[Array, Array, Array],
    side: tuple[Array, Array, Array],
    signs: Array,
    places: tuple[Array, Array],
) -> npt.NDArray[np.float64]:
    """Each device's coordinate of its rotated vector, up to a positive factor.

    Parameters
    ----------
    kind
        0: popularity, 1: offsets, 2: factors.
    rows
        ``indptr``, ``items`` (rising within a device), ``values``.
    side
        Offsets, factors (items x rank), and centre, penalty of the offset and penalty of the factors.
    signs
        Of all rotations, rotations x bytes, most significant bit first; 1 means minus.
    places
        Rotation and coordinate of each device.
    """
    indptr, items, values = rows
    offsets, factors, rule = side
    rotation, coordinate = places
    out = np.empty(len(rotation))
    share(
        _coordinates,
        len(out),
        float(len(items)) * (1 + factors.shape[1]) ** 2,
        kind,
        np.ascontiguousarray(indptr, np.int64),
        np.ascontiguousarray(items, np.int32),
        np.ascontiguousarray(values, np.float64),
        offsets,
        factors,
        rule,
        signs,
        rotation,
        coordinate,
        out,
    )
    return out


def walsh_hadamard(vector: Array) -> None:
    """Fast Walsh-Hadamard transform in place, unnormalised; exact on integers. The length is a power of two."""
    half = 1
    while half < len(vector):
        pairs = vector.reshape(-1, 2, half)
        first = pairs[:, 0] + pairs[:, 1]
        np.subtract(pairs[:, 0], pairs[:, 1], out=pairs[:, 1])
        pairs[:, 0] = first
        half *= 2


@exact_kernel
def _coordinates(
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
                _fold_in(items[start:stop], values[start:stop], offsets, factors, rule, matrix, row, own)
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
def _fold_in(
    items: Any, values: Any, offsets: Any, factors: Any, rule: Any, matrix: Any, row: Any, own: Any
) -> None:
    """What a device in plain Python computes (``devices/device/item_side.py``), operation for operation."""
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
