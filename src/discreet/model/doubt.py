"""How sure the model is of each item: the posterior covariance of what it learnt, in a form that is cheap to keep.

The covariance of item j's offset and factors together is one number for the item times one matrix for all of them,
``variances[j] * directions``: items differ in how much was learnt about them, and noise of the same shape reached all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias

import numpy as np

from discreet.errors import ModelInvalid
from discreet.types import Bools, Floats, Indices

__all__ = ["NOTHING_LEARNT", "Doubt", "Mark"]

NOTHING_LEARNT = 0.9
"""An item is unknown when this much of the variance is left that it had before anything was learnt."""

Mark: TypeAlias = Literal["unknown", "guess"]
"""``"unknown"``: next to nothing was learnt about the item; ``"guess"``: it was added after training."""

_ROUNDING = 1e-6  # what single precision may have done to a matrix that was symmetric and positive


@dataclass(frozen=True, eq=False)
class Doubt:
    """The posterior covariance of each item's offset and factors.

    Parameters
    ----------
    variances
        One for each item, not below zero.
    directions
        (1 + rank) x (1 + rank), symmetric and positive semidefinite; the offset comes first.
    prior
        The variance of an item of which nothing was seen.
    guessed
        Which items were added after training; ``None`` means none of them.

    Notes
    -----
    **Privacy.** Computed from what was released, so it is as public as the factors are.

    Examples
    --------
    >>> doubt = Doubt(np.array([0.01, 0.25]), np.eye(2), prior=0.25)
    >>> doubt.standard_errors(np.array([[0.0, 0.0]]), np.array([[0, 1]]))
    array([[0.1, 0.5]])
    >>> doubt.marks(np.array([0, 1]))
    [None, 'unknown']
    """

    variances: Floats
    directions: Floats
    prior: float
    guessed: Bools | None = None

    def __post_init__(self) -> None:
        """Rows beside each other in memory, as in `discreet.model.item_side.ItemSide`."""
        for name in ("variances", "directions"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), order="C"))

    @property
    def added(self) -> Bools:
        """Which items were added after training."""
        return np.zeros(len(self.variances), dtype=np.bool_) if self.guessed is None else self.guessed

    @property
    def unknown(self) -> Bools:
        """Of which items next to nothing was learnt; a guess is none of them."""
        return (self.variances >= NOTHING_LEARNT * self.prior) & ~self.added

    @property
    def factor_variances(self) -> Floats:
        """Expected squared distance of each item's factors from the true ones: the trace of their covariance."""
        return self.variances * float(np.trace(self.directions[1:, 1:]))

    def standard_errors(self, coefficients: Floats, items: Indices) -> Floats:
        """How far the expected value of each user and item may be off because of what is not known about the item.

        Parameters
        ----------
        coefficients
            Users x (1 + rank), as `discreet.model.item_side.ItemSide.fold_in` gives them.
        items
            Users x any number: positions of items; below zero where there is none, which gives NaN.

        Notes
        -----
        A prediction is ``offset_j + u . factors_j`` and things that do not depend on what was learnt about item j, such
        as the user's own offset. Its standard error is that of the row ``(1, u)``, whatever the user's offset is, and
        before predictions are clipped. It says nothing about how far one rating is from the expected one, nor how
        well the history determines u.
        """
        rows = np.column_stack([np.ones(len(coefficients)), coefficients[:, 1:]])
        spread = np.einsum("ij,ij->i", rows @ self.directions, rows)
        errors: Floats = np.sqrt(np.maximum(spread, 0.0)[:, np.newaxis] * self.variances[items])
        errors[items < 0] = np.nan
        return errors

    def marks(self, items: Indices) -> list[Mark | None]:
        """What to say about each item, by position; ``None`` where something was learnt about it."""
        return [
            "guess" if added else "unknown" if unknown else None
            for added, unknown in zip(self.added[items], self.unknown[items], strict=True)
        ]

    def with_guesses(self, count: int, variance: float) -> Self:
        """The same with ``count`` more items at the end, all guesses of this variance."""
        return replace(
            self,
            variances=np.concatenate([self.variances, np.full(count, variance)]),
            guessed=np.concatenate([self.added, np.ones(count, dtype=np.bool_)]),
        )

    def check(self, n_items: int, rank: int) -> None:
        """Refuse arrays that do not fit the model, or are no covariance.

        Raises
        ------
        ModelInvalid
            Naming what is wrong.
        """
        order = 1 + rank
        if self.variances.shape != (n_items,) or self.directions.shape != (order, order):
            raise ModelInvalid(
                f"the doubt has variances {self.variances.shape} and directions {self.directions.shape}, not "
                f"({n_items},) and ({order}, {order})"
            )
        if self.guessed is not None and self.guessed.shape != (n_items,):
            raise ModelInvalid(f"the doubt has guessed {self.guessed.shape} and not ({n_items},)")
        if not (np.isfinite(self.variances) & (self.variances >= 0.0)).all():
            raise ModelInvalid("the doubt's variances must be finite and not below zero")
        if not (math.isfinite(self.prior) and self.prior > 0.0):
            raise ModelInvalid(f"the doubt's prior is {self.prior}; it must be finite and above zero")
        if not np.isfinite(self.directions).all():
            raise ModelInvalid("the doubt's directions have numbers that are not finite")
        slack = _ROUNDING * float(np.abs(self.directions).max())
        if (np.abs(self.directions - self.directions.T) > slack).any():
            raise ModelInvalid("the doubt's directions are not symmetric")
        if np.linalg.eigvalsh(self.directions).min() < -slack * order:
            raise ModelInvalid("the doubt's directions have a negative eigenvalue, so they are no covariance")
