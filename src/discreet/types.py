"""Array types that many modules name."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["AnyArray", "Array", "Bools", "Floats", "Indices", "Ints", "Shorts", "Singles", "Words"]

AnyArray: TypeAlias = npt.NDArray[Any]
Array: TypeAlias = npt.NDArray[np.floating[Any]]
"""float32 or float64; where both are legal the function says which argument decides."""
Floats: TypeAlias = npt.NDArray[np.float64]
Singles: TypeAlias = npt.NDArray[np.float32]
Shorts: TypeAlias = npt.NDArray[np.int16]
Ints: TypeAlias = npt.NDArray[np.int64]
Indices: TypeAlias = npt.NDArray[np.integer[Any]]
Words: TypeAlias = npt.NDArray[np.uint64]
Bools: TypeAlias = npt.NDArray[np.bool_]
