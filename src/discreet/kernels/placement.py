"""Where public rows are worked on: by the CPU's threads, or by a GPU that gives the same bits.

A choice of speed alone. The public half of a run must give the same questions from the same releases on every machine,
so a device that rounds differently is not used (`discreet.kernels.gpu.placed.same_bits`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from discreet.types import Array

if TYPE_CHECKING:
    from discreet.kernels.gpu.placed import Placed

__all__ = ["placed", "rows_on"]

WORTH = 1 << 18
"""Numbers below which the CPU is done before a device has begun."""
MOST = 1 << 30
"""Numbers are counted in 32 bits there."""

_device: ContextVar[str] = ContextVar("discreet_rows_device", default="cpu")


@contextmanager
def rows_on(device: str) -> Iterator[None]:
    """Work on rows with a GPU (``"cuda"``, ``"cuda:0"``) or the CPU inside the ``with`` block, in this context only.

    What comes back from a GPU cannot be written to, and stays there as long as the array does; so does an array that is
    given to it and cannot be written to.
    """
    token = _device.set(device)
    try:
        yield
    finally:
        _device.reset(token)


def placed(rows: Array) -> Placed | None:
    """What works on these rows in place of the CPU; ``None`` where the CPU does."""
    if _device.get() == "cpu" or not WORTH <= rows.size < MOST:
        return None
    from discreet.kernels.gpu.placed import placed_on, same_bits

    there = placed_on(_device.get())
    return there if same_bits(there) else None
