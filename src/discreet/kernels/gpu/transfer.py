"""Arrays between the host and a device, through memory of the host that the device reads and writes by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from discreet.kernels.threads import by_rows

__all__ = ["download", "upload"]

LEAST = 1 << 16
"""Bytes below which an array is copied as it is."""
_KINDS = {"float64": torch.float64, "float32": torch.float32, "int64": torch.int64, "int32": torch.int32}


def upload(values: npt.NDArray[Any], device: torch.device) -> torch.Tensor:
    """The same numbers on the device."""
    values = np.ascontiguousarray(values)
    if device.type != "cuda" or values.nbytes < LEAST:
        return torch.tensor(values, device=device)  # a copy, of arrays that cannot be written to as well
    # torch keeps such memory for the next time, and does not hand it out before the copy is over.
    staged = torch.empty(values.shape, dtype=_KINDS[str(values.dtype)], pin_memory=True)
    into = staged.numpy()

    def some(rows: slice) -> None:
        into[rows] = values[rows]

    by_rows(some, len(values))
    return staged.to(device, non_blocking=True)


def download(values: torch.Tensor) -> npt.NDArray[Any]:
    """The same numbers on the host."""
    if values.device.type != "cuda" or values.nbytes < LEAST:
        array: npt.NDArray[Any] = values.cpu().numpy()
        return array
    staged = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
    staged.copy_(values, non_blocking=True)
    torch.cuda.current_stream(values.device).synchronize()
    found: npt.NDArray[Any] = staged.numpy()
    return found
