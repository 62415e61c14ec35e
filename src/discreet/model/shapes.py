"""Arrays of a model that somebody else may have written: refused unless they fit each other and are numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.errors import ModelInvalid
from discreet.types import Indices, Ints

__all__ = ["check_rows", "check_shapes"]


def check_shapes(owner: Any, **shapes: tuple[int, ...]) -> None:
    """Refuse arrays of another shape, and numbers that are not finite (`ModelInvalid`)."""
    for name, shape in shapes.items():
        array = getattr(owner, name)
        if array is not None and array.shape != shape:
            raise ModelInvalid(f"{name} has the shape {array.shape}, not {shape}")
        if array is not None and not np.isfinite(array).all():
            raise ModelInvalid(f"{name} has numbers that are not finite")


def check_rows(starts: Ints, columns: Indices, width: int, what: str) -> None:
    """Refuse compressed rows that do not rise from 0 to their end, or name a column that is not there."""
    entries = len(columns)
    # Compared, not subtracted: differences of numbers far apart wrap around.
    if starts[0] != 0 or starts[-1] != entries or (starts[1:] < starts[:-1]).any():
        raise ModelInvalid(f"the rows of {what} must rise from 0 to their number")
    if entries and (columns.min() < 0 or columns.max() >= width):
        raise ModelInvalid(f"{what} names something that is not there")
