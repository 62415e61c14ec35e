"""Names for the array types the kernels take and give."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
"""float32 or float64; where both are legal the function says which argument decides."""
Floats = NDArray[np.float64]
Shorts = NDArray[np.int16]
"""Values on the public integer grid."""
Index = NDArray[np.integer[Any]]
Whole = NDArray[np.int64]
Bools = NDArray[np.bool_]
