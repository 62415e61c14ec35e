"""Contributions that count more than once: what users of a silo that has missed a round hand in afterwards.

Proof note: ``proofs/reach.md``. A user whose contribution is ``reach`` times as large moves a release by ``reach``
times as much, so the release costs that user ``reach`` times its mu. That is charged; the noise stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from discreet.errors import SettingsInvalid
from discreet.privacy.gaussian.blocks import Block, ItemMatrix, ItemVector, ItemWeight, UserMatrix

__all__ = ["MOST_REACH", "stretched"]

_Integer = TypeVar("_Integer", bound=np.signedinteger)

MOST_REACH = 1.9
"""Below 2: rows of features, which have norm 2^14 at most, still fit into 16 bits."""


def stretched(blocks: Sequence[Block], reach: float) -> Sequence[Block]:
    """The same contributions, ``reach`` times as large and truncated toward zero; as they are for a reach of 1.

    Raises
    ------
    SettingsInvalid
        For a reach below 1 or above :data:`MOST_REACH`, and for blocks of another kind than weighted sums are made of.
    """
    if not 1.0 <= reach <= MOST_REACH:
        raise SettingsInvalid(f"a contribution counts 1 to {MOST_REACH} times, not {reach}")
    return blocks if reach == 1.0 else [_stretched(block, reach) for block in blocks]


def _stretched(block: Block, reach: float) -> Block:
    # Where a contribution is a product of two numbers, one of them takes the whole factor; in a square, its root.
    if isinstance(block, ItemVector):
        return replace(block, features=_times(block.features, reach))
    if isinstance(block, ItemWeight):
        return replace(block, weights=_times(block.weights, reach))
    if isinstance(block, UserMatrix | ItemMatrix):
        return replace(block, features=_times(block.features, math.sqrt(reach)))
    raise SettingsInvalid(f"{block.name}: users cannot count more than once in a {type(block).__name__}")


def _times(values: npt.NDArray[_Integer], factor: float) -> npt.NDArray[_Integer]:
    # Cut off where the integers end, a contribution is smaller than it could be, and never larger.
    most = np.iinfo(values.dtype).max
    larger: npt.NDArray[_Integer] = np.clip(np.trunc(values * factor), -most, most).astype(values.dtype)
    return larger
