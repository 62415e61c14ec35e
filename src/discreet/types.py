"""Array types that many modules name."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["AnyArray", "Bools", "Floats", "Indices", "Ints", "Shorts", "Singles", "Words"]

AnyArray: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float64]
Singles: TypeAlias = npt.NDArray[np.float32]
Shorts: TypeAlias = npt.NDArray[np.int16]
Ints: TypeAlias = npt.NDArray[np.int64]
Indices: TypeAlias = npt.NDArray[np.integer[Any]]
Words: TypeAlias = npt.NDArray[np.uint64]
Bools: TypeAlias = npt.NDArray[np.bool_]
