"""Opening a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.image import imread

__all__ = ["open_picture"]


def open_picture(path: Path) -> tuple[int, int, int]:
    """Height, width and number of different colours."""
    pixels = np.asarray(imread(path))
    return pixels.shape[0], pixels.shape[1], len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0))
