"""How kernels are compiled: to machine code that other processes load from disk, outside the interpreter lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

__all__ = ["exact_kernel", "kernel"]

REASSOCIATE = {"reassoc", "contract"}
"""Sums may be vectorised and fused; nothing is assumed about NaN, infinities or signs of zero."""


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first use, without the interpreter lock, and keep the machine code on disk.

    Where no folder can be written to, numba refuses to cache at all; then the code is compiled in every process.
    """
    return _compiled(function, fastmath=REASSOCIATE)


def exact_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same with sums in the order they are written: agrees with plain Python to the last bit."""
    return _compiled(function)


def _compiled(function: Callable[..., Any], **more: Any) -> Callable[..., Any]:
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", **more}
    try:
        compiled: Callable[..., Any] = njit(cache=True, **options)(function)
    except RuntimeError:
        compiled = njit(**options)(function)
    return compiled
