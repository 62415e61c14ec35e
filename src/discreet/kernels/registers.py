"""What the processor's vector registers hold; decides the shape of tiles and the padding of rows."""

from __future__ import annotations

from typing import Any

import llvmlite.binding
import numba
import numpy as np
from numba.core.registry import cpu_target

__all__ = ["arithmetic", "lanes", "padded"]

HEIGHT = 8
"""Rows of a tile. With two vectors a row this is 16 sums in flight: enough to hide the latency of the adder."""


def arithmetic() -> tuple[str, ...]:
    """What decides how a machine rounds: its processor, what code is compiled for, and who compiled it.

    Two machines with the same answer give the same bits. The processor itself counts beside numba's target, because
    NumPy and BLAS choose their loops by it.
    """
    software = f"NumPy {np.__version__}, numba {numba.__version__}"
    return llvmlite.binding.get_host_cpu_name(), software, *cpu_target.target_context.codegen().magic_tuple()


def _target() -> tuple[bool, frozenset[str]]:
    """Whether code is compiled for x86, and the extensions it may use.

    Asked of numba rather than of the processor, because numba's settings can exclude some, and because machine code
    on disk is kept apart by exactly this answer.
    """
    triple, _, features = cpu_target.target_context.codegen().magic_tuple()
    return triple.startswith("x86_64"), frozenset(features.split(","))


X86, _EXTENSIONS = _target()
BYTES = 64 if "+avx512bw" in _EXTENSIONS else 32 if "+avx2" in _EXTENSIONS else 16
"""Width of a vector register."""
WIDE = 2 if "+avx512bw" in _EXTENSIONS or not X86 else 1
"""Most vectors in a row of a tile: two where there are 32 registers, one where there are 16."""


def lanes(dtype: Any) -> int:
    """Numbers in one vector register."""
    return BYTES // int(np.dtype(dtype).itemsize)


def padded(columns: int, dtype: Any) -> int:
    """Columns rounded up to whole vectors and whole tiles."""
    step = max(lanes(dtype), HEIGHT)
    return -(-columns // step) * step
