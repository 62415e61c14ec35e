"""The CPU's kernels for public rows, done on a device: arrays in, arrays out, the same bits."""

from __future__ import annotations

import weakref
from functools import cache

import numpy as np
import torch

from discreet.kernels.gpu import rows as device_rows
from discreet.kernels.gpu.transfer import download, upload
from discreet.kernels.moments import weighted_moment
from discreet.kernels.placement import rows_on
from discreet.kernels.shrink import shrink_rows
from discreet.kernels.transform import transform_rows
from discreet.types import Array, Floats

__all__ = ["Placed", "different", "placed_on", "same_bits"]


class Placed:
    """Public rows on a device. Arrays that cannot be written to are kept there as long as they are here.

    Parameters
    ----------
    device
        Of torch.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._kept: dict[int, tuple[weakref.ref[Array], torch.Tensor]] = {}

    def tensor(self, array: Array) -> torch.Tensor:
        """The same numbers on the device, float64."""
        known = self._kept.get(id(array))
        if known is not None and known[0]() is array:
            return known[1]
        tensor = upload(np.asarray(array, np.float64), self._device)
        # A view that cannot be written to may look at an array that can.
        if array.flags.owndata and not array.flags.writeable:
            self._keep(array, tensor)
        return tensor

    def transform_rows(self, rows: Array, matrix: Array, scale: Array | None, plus: Array | None) -> Floats:
        """See `discreet.kernels.transform_rows`."""
        found = device_rows.transform_rows(
            self.tensor(rows), self.tensor(matrix), self._maybe(scale), self._maybe(plus)
        )
        return self._given(found)

    def weighted_moment(self, rows: Array, weights: Array) -> Floats:
        """See `discreet.kernels.weighted_moment`."""
        roots = np.sqrt(np.asarray(weights, np.float64))
        found: Floats = download(device_rows.weighted_moment(self.tensor(rows), self.tensor(roots)))
        return found

    def shrink_rows(
        self, rows: Array, basis: Array, values: Array, square: Array, variance: Array, told: Array | None
    ) -> tuple[Floats, Floats]:
        """See `discreet.kernels.shrink_rows`."""
        shrunk, lost = device_rows.shrink_rows(
            self.tensor(rows),
            self.tensor(basis),
            self.tensor(values),
            self.tensor(square),
            self.tensor(variance),
            self._maybe(told),
        )
        left: Floats = download(lost) / rows.shape[1]
        return self._given(shrunk), left

    def _maybe(self, array: Array | None) -> torch.Tensor | None:
        return None if array is None else self.tensor(array)

    def _given(self, tensor: torch.Tensor) -> Floats:
        array: Floats = download(tensor)
        array.setflags(write=False)
        self._keep(array, tensor)
        return array

    def _keep(self, array: Array, tensor: torch.Tensor) -> None:
        number = id(array)
        self._kept[number] = weakref.ref(array, lambda _: self._kept.pop(number, None)), tensor


@cache
def placed_on(device: str) -> Placed:
    """One for each device and process."""
    return Placed(torch.device(device))


@cache
def same_bits(there: Placed) -> bool:
    """Whether a device gives the CPU's bits, tried at first use: several parts and stretches, tiles not full."""
    return not any(wrong for wrong, _ in different(there, 300, 21).values())


def different(there: Placed, n: int, d: int) -> dict[str, tuple[int, int]]:
    """For each kernel how many numbers differ from the CPU's, and by how many units of last place at most."""
    rng = np.random.default_rng(0)

    def numbers(*shape: int) -> Floats:
        return np.ldexp(rng.standard_normal(shape), rng.integers(-20, 21, shape))

    rows, matrix, plus, told = numbers(n, d), numbers(d, d), numbers(n, d), numbers(n, d)
    scale, weights, square, variance = (np.abs(numbers(n)) for _ in range(4))
    values, basis = np.abs(numbers(d)), np.linalg.qr(rng.standard_normal((d, d)))[0]
    with rows_on("cpu"):
        pairs = {
            "rows times a matrix": (
                transform_rows(rows, matrix),
                there.transform_rows(rows, matrix, None, None),
            ),
            "rows times a matrix, scaled and added to": (
                transform_rows(rows, matrix, scale, plus),
                there.transform_rows(rows, matrix, scale, plus),
            ),
            "weighted moment": (weighted_moment(rows, weights), there.weighted_moment(rows, weights)),
        }
        for name, guess in (("shrunk rows", None), ("shrunk rows, told", told)):
            here = shrink_rows(rows, basis, values, square, variance, guess)
            found = there.shrink_rows(rows, basis, values, square, variance, guess)
            pairs[name], pairs[f"{name}: what is left"] = zip(here, found, strict=True)
    return {name: _apart(*pair) for name, pair in pairs.items()}


def _apart(here: Floats, there: Floats) -> tuple[int, int]:
    """How many differ, and the largest difference in units of last place; a zero is a zero whatever its sign."""
    steps = np.abs(_ordered(here) - _ordered(there))
    return int((steps > 0).sum()), int(steps.max(initial=0))


def _ordered(values: Floats) -> Array:
    """Numbers whose neighbours are one apart; as long floats, as a difference of far ones would not fit."""
    bits = np.ascontiguousarray(values).view(np.int64)
    whole = np.where(bits < 0, -(bits & np.int64(2**63 - 1)), bits)
    return whole.astype(np.longdouble)
