"""Users as points of a small space: integers within a public ball.

Proof note: ``proofs/bounded_rows.md``.
"""

from __future__ import annotations

import numpy as np

from discreet.types import Floats, Ints

__all__ = ["HALF_SIDE", "bounded_points"]


HALF_SIDE = 1 << 15
"""Half a side of the cube that holds all points, in its own steps."""


def bounded_points(vectors: Floats) -> Ints:
    """Each row, in steps of the cube, clipped to an L2 norm of at most ``HALF_SIDE - 1`` and truncated.

    **Privacy.** Element by element and along one row, in one order: no user's point depends on another's. What is no
    number or has no norm becomes the middle.
    """
    bound = float(HALF_SIDE - 1)
    squares = np.zeros(len(vectors))
    with np.errstate(over="ignore", invalid="ignore"):
        for column in range(vectors.shape[1]):
            squares += vectors[:, column] ** 2
    usable = np.isfinite(squares)
    # The factor is rounded down a little, so that the clipped norm cannot be rounded up past the bound.
    factor = np.minimum(
        1.0, bound * (1.0 - 1e-12) / np.maximum(np.sqrt(squares, where=usable, out=squares), 1.0)
    )
    inside = np.where(usable[:, None], vectors, 0.0) * np.where(usable, factor, 0.0)[:, None]
    clipped: Ints = np.trunc(inside).astype(np.int64)
    return clipped
