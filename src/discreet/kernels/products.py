"""Products of small padded matrices, built from register tiles.

Matrices here are C-contiguous, padded to whole vectors (`registers.padded`), 64-byte aligned, and symmetric ones
hold their upper triangle only; what stands below the diagonal blocks, in a register with them, counts for nothing.
"""

from __future__ import annotations

import numpy as np

from discreet.kernels.compile import kernel
from discreet.kernels.registers import BYTES, HEIGHT, WIDE
from discreet.kernels.tiles import add_narrow, add_wide, subtract_narrow, subtract_wide
from discreet.types import Array

__all__ = ["add_product", "add_square", "aligned", "clear", "subtract_square"]


@kernel
def aligned(rows: int, columns: int, like: Array) -> Array:
    """A zeroed matrix that starts on a cache line, of the dtype of `like`."""
    slack = BYTES // like.itemsize
    raw = np.zeros(rows * columns + slack, like.dtype)
    skip = (-raw.ctypes.data % BYTES) // like.itemsize
    return raw[skip : skip + rows * columns].reshape((rows, columns))


@kernel
def clear(A: Array) -> None:
    """Set a matrix to zero."""
    for p in range(A.shape[0]):
        for c in range(A.shape[1]):
            A[p, c] = 0


@kernel
def add_product(C: Array, i: int, j: int, stop: int, A: Array, p: int, B: Array, q: int, k: int) -> None:
    """``C[i:i+8, j:stop] += A[:k, p:p+8].T @ B[:k, q:]``, `j` and `stop` on vector borders."""
    step = BYTES // A.itemsize
    while j + WIDE * step <= stop:
        add_wide(C, i, j, A, p, B, q, k)
        j += WIDE * step
        q += WIDE * step
    while j < stop:
        add_narrow(C, i, j, A, p, B, q, k)
        j += step
        q += step


@kernel
def add_square(C: Array, A: Array, k: int, d: int) -> None:
    """Upper triangle of ``C += A[:k].T @ A[:k]`` for the first `d` rows."""
    step = BYTES // A.itemsize
    for i in range(0, d, HEIGHT):
        start = i // step * step
        add_product(C, i, start, C.shape[1], A, i, A, start, k)


@kernel
def subtract_square(C: Array, i: int, A: Array, k: int) -> None:
    """``C[i:i+8, i:] -= A[:k, i:i+8].T @ A[:k, i:]``: eight rows of an upper triangle."""
    step = BYTES // A.itemsize
    j = i // step * step
    while j + WIDE * step <= C.shape[1]:
        subtract_wide(C, i, j, A, i, A, j, k)
        j += WIDE * step
    while j < C.shape[1]:
        subtract_narrow(C, i, j, A, i, A, j, k)
        j += step
