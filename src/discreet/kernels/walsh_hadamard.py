"""The fast Walsh-Hadamard transform."""

from __future__ import annotations

from typing import Any

from discreet.kernels.compile import exact_kernel

__all__ = ["walsh_hadamard"]


@exact_kernel
def walsh_hadamard(vector: Any) -> None:
    """Fast Walsh-Hadamard transform in place, unnormalised; exact on integers. The length is a power of two."""
    size = len(vector)
    half = 1
    while half < size:
        for start in range(0, size, 2 * half):
            for i in range(start, start + half):
                a = vector[i]
                b = vector[i + half]
                vector[i] = a + b
                vector[i + half] = a - b
        half *= 2
