"""What the processor's vector registers hold; decides the shape of tiles and the padding of rows."""

from __future__ import annotations

import platform
from typing import Any

import llvmlite.binding as llvm
import numpy as np

HEIGHT = 8
"""Rows of a tile. With two vectors a row this is 16 sums in flight: enough to hide the latency of the adder."""


def _features() -> dict[str, bool]:
    try:
        return dict(llvm.get_host_cpu_features())
    except RuntimeError:  # the platform cannot tell: take the narrowest vectors
        return {}


_CPU = _features()
X86 = platform.machine().lower() in {"x86_64", "amd64"}
BYTES = 64 if _CPU.get("avx512bw") else 32 if _CPU.get("avx2") else 16
"""Width of a vector register."""
WIDE = 2 if _CPU.get("avx512bw") or not X86 else 1
"""Most vectors in a row of a tile: two where there are 32 registers, one where there are 16."""


def lanes(dtype: Any) -> int:
    """Numbers in one vector register."""
    return BYTES // np.dtype(dtype).itemsize


def padded(columns: int, dtype: Any) -> int:
    """Columns rounded up to whole vectors and whole tiles."""
    step = max(lanes(dtype), HEIGHT)
    return -(-columns // step) * step
