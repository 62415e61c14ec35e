"""Inputs of the fold-in rules: histories as compressed rows, and the released arrays."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from discreet import kernels
from discreet.types import Floats, Indices

__all__ = ["Arrays", "Rows", "row_scale", "wrong_penalties"]

# A million ratings to this power are still a number.
_LARGEST_EXPONENT = 50.0


class Arrays(Protocol):
    """The released arrays that coefficients are computed from; `discreet.model.item_side.ItemSide` is one."""

    @property
    def centre(self) -> float: ...
    @property
    def offsets(self) -> Floats: ...
    @property
    def factors(self) -> Floats: ...
    @property
    def moments(self) -> tuple[Floats, Floats]: ...


class Rows(NamedTuple):
    """Users' histories as compressed rows: start of each user's entries, items, values."""

    indptr: Indices
    items: Indices
    values: Floats

    @property
    def counts(self) -> Floats:
        """Entries of each user."""
        return np.diff(self.indptr).astype(np.float64)

    def above(self, side: Arrays) -> Floats:
        """Values less the centre and the items' offsets."""
        above = kernels.above_offsets(self.items, self.values, side.offsets, side.centre)
        return above.astype(np.float64, copy=False)

    def own_means(self, centre: float) -> Floats:
        """Each user's mean value less the centre; 0 for a user without a history."""
        counts = np.diff(self.indptr)
        own = np.zeros(len(counts))
        filled = counts > 0
        if filled.any():
            own[filled] = kernels.row_sums(self.indptr, self.values)[filled] / counts[filled] - centre
        return own


def row_scale(rows: Rows, exponent: float) -> Floats | None:
    """``max(count, 1) ** exponent`` of each user, by which penalties grow; ``None`` where they do not."""
    if exponent == 0.0:
        return None
    scale: Floats = np.maximum(np.diff(rows.indptr), 1.0) ** exponent
    return scale


def wrong_penalties(*numbers: float, exponent: float) -> str | None:
    """What is wrong with numbers that weigh something: one below zero or without an end would turn a fit around."""
    fine = all(0.0 <= number < math.inf for number in numbers) and 0.0 <= exponent <= _LARGEST_EXPONENT
    return (
        None if fine else "penalties and their exponent must be finite, of a usable size and not below zero"
    )
