"""What goes over the wire in one round, measured on messages as they would be encoded."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.types import Floats


@dataclass(frozen=True)
class Traffic:
    """Bytes of one round."""

    scheme: str
    up: float
    down: int
    once: int
    information: float


def wire_array(array: npt.NDArray[np.floating]) -> bytes:
    """An array in single precision behind its shape."""
    rows, columns = array.shape
    return struct.pack("<II", rows, columns) + np.ascontiguousarray(array, dtype="<f4").tobytes()


def one_bit(task: str, number: int, device: bytes, bit: int) -> bytes:
    """A device's report as the collector takes it."""
    report = {"task": task, "round": number, "device": device.hex(), "bit": bit}
    return json.dumps(report, separators=(",", ":"), sort_keys=True).encode()


def clear_gradients(items: npt.NDArray[np.integer], gradients: Floats) -> bytes:
    """Hua et al.: a gradient for each rated item, with the item's number."""
    return np.ascontiguousarray(items, dtype="<u4").tobytes() + wire_array(gradients)


def noisy_everything(said: npt.NDArray[np.bool_], gradients: Floats) -> bytes:
    """The naive scheme: a bit and a gradient for every item."""
    return np.packbits(said).tobytes() + wire_array(gradients)


def traffic(counts: Sequence[int], items: int, rank: int, dimensions: int) -> list[Traffic]:
    """All schemes of the paper for devices with so many ratings each."""
    report = float(len(one_bit("films-2026", 10, bytes(16), 1)))
    profile = len(wire_array(np.zeros((items, rank))))
    reduced = len(wire_array(np.zeros((dimensions, rank))))
    sent = [len(clear_gradients(np.arange(count), np.zeros((count, rank)))) for count in counts]
    usual = float(np.mean(counts))
    everything = len(noisy_everything(np.zeros(items, dtype=bool), np.zeros((items, rank))))
    matrix = len(wire_array(np.zeros((dimensions, 1)))) - 8
    return [
        Traffic("private GD", report, profile, 0, 1.0),
        Traffic("private GD-DR, matrix sent", report, reduced, profile + 8 + matrix * items, 1.0),
        Traffic("private GD-DR, matrix from a seed", report, reduced, profile + 32, 1.0),
        Traffic("Hua et al.", float(np.mean(sent)), profile, 0, usual * (32.0 * rank + np.log2(items))),
        Traffic("naive", float(everything), profile, 0, items * (1.0 + 32.0 * rank)),
    ]
