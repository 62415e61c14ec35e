"""How sure the model is of each item: the posterior covariance of what it learnt, in a form that is cheap to keep.

Offset and factors of item j together have the covariance

    C_j = reach_j^2 * sum over k of  d_k d_k^T * prior_k noise_j / (prior_k + noise_j)

with directions d_k and their prior variances shared by all items. An item that was seen well has the noise in all
directions, one that was not seen has the prior, and one number an item says where in between it is.
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


@dataclass(frozen=True, eq=False)
class Doubt:
    """The posterior covariance of each item's offset and factors.

    Parameters
    ----------
    noise
        One for each item, not below zero: variance of the noise in what was seen of it.
    directions
        (1 + rank) x (1 + rank): the directions d_k in rows; the offset comes first.
    prior
        1 + rank variances, above zero: of an item of which nothing was seen, along each direction.
    reach
        How large each item's errors can be relative to others', where that differs; ``None`` means 1 for all. In
        clicks what few people take has a small score, whoever asks; and more of a rare item is uncertain than its noise
        says.
    shared
        Variance of what is wrong with all scores of a person together.
    scale
        Relative variance of the size of all scores.
    guessed
        Which items were added after training; ``None`` means none of them.

    Notes
    -----
    **Privacy.** Computed from what was released, so it is as public as the factors are.

    Examples
    --------
    >>> doubt = Doubt(np.array([0.0101, 1e9]), np.eye(2), np.ones(2))
    >>> doubt.standard_errors(np.array([[0.0, 0.0]]), np.array([[0, 1]])).round(3)
    array([[0.1, 1. ]])
    >>> doubt.marks(np.array([0, 1]))
    [None, 'unknown']
    """

    noise: Floats
    directions: Floats
    prior: Floats
    reach: Floats | None = None
    shared: float = 0.0
    scale: float = 0.0
    guessed: Bools | None = None

    def __post_init__(self) -> None:
        """Rows beside each other in memory, as in `discreet.model.item_side.ItemSide`."""
        for name in ("noise", "directions", "prior", "reach"):
            if (array := getattr(self, name)) is not None:
                object.__setattr__(self, name, np.asarray(array, order="C"))

    @property
    def added(self) -> Bools:
        """Which items were added after training."""
        return np.zeros(len(self.noise), dtype=np.bool_) if self.guessed is None else self.guessed

    @property
    def left(self) -> Floats:
        """Items x directions: variance left along each direction, as a share of the prior one."""
        noise = self.noise[:, np.newaxis]
        left: Floats = noise / (self.prior + noise)
        return left

    @property
    def unknown(self) -> Bools:
        """Of which items next to nothing was learnt; a guess is none of them."""
        return (self.left @ self.prior >= NOTHING_LEARNT * float(self.prior.sum())) & ~self.added

    @property
    def factor_variances(self) -> Floats:
        """Expected squared distance of each item's factors from the true ones: the trace of their covariance."""
        variances: Floats = self._reached * (self.left @ self._along)
        return variances

    @property
    def factors_known(self) -> Floats:
        """Share of the variance of each item's factors that is no longer left, from 0 (nothing is known) to 1."""
        known: Floats = 1.0 - self.left @ self._along / max(
            float(self._along.sum()), np.finfo(np.float64).tiny
        )
        return known

    def standard_errors(self, coefficients: Floats, items: Indices, scores: Floats | None = None) -> Floats:
        """How far the expected value of each user and item may be off because of the noise in training.

        Parameters
        ----------
        coefficients
            Users x (1 + rank), as `discreet.model.item_side.ItemSide.fold_in` gives them.
        items
            Users x any number: positions of items; below zero where there is none, which gives NaN.
        scores
            The values themselves, in the same shape; needed where ``scale`` is not zero.

        Notes
        -----
        A prediction is ``offset_j + u . factors_j`` and things that do not depend on what was learnt about item j, such
        as the user's own offset. Its variance is that of the row ``(1, u)``, whatever the user's offset is, with what
        all scores have in common, and before predictions are clipped. It says nothing about how far one rating is from
        the expected one, nor how well the history determines u.
        """
        rows = np.column_stack([np.ones(len(coefficients)), coefficients[:, 1:]])
        along = np.square(rows @ self.directions.T) * self.prior
        noise = self.noise[items]
        variance = np.zeros(items.shape)
        for k, prior in enumerate(self.prior):
            variance += along[:, [k]] * (noise / (prior + noise))
        variance = variance * self._reached[items] + self.shared
        if self.scale > 0.0:
            assert scores is not None
            variance = variance + self.scale * np.square(np.where(items < 0, 0.0, scores))
        errors: Floats = np.sqrt(variance)
        errors[items < 0] = np.nan
        return errors

    @property
    def _along(self) -> Floats:
        """Prior variance of an item's factors along each direction; the offset's part is left out."""
        along: Floats = self.prior * np.square(self.directions[:, 1:]).sum(axis=1)
        return along

    @property
    def _reached(self) -> Floats:
        return np.ones(len(self.noise)) if self.reach is None else np.square(self.reach)

    def marks(self, items: Indices) -> list[Mark | None]:
        """What to say about each item, by position; ``None`` where something was learnt about it."""
        return [
            "guess" if added else "unknown" if unknown else None
            for added, unknown in zip(self.added[items], self.unknown[items], strict=True)
        ]

    def with_guesses(self, count: int, noise: float) -> Self:
        """The same with ``count`` more items at the end, all guesses of this noise and of a usual reach."""
        reach = self.reach
        if reach is not None:
            usual = float(np.sqrt(np.square(reach[~self.added]).mean()))
            reach = np.concatenate([reach, np.full(count, usual)])
        return replace(
            self,
            noise=np.concatenate([self.noise, np.full(count, noise)]),
            reach=reach,
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
        shapes = {"noise": (n_items,), "directions": (order, order), "prior": (order,)}
        shapes |= {name: (n_items,) for name in ("reach", "guessed") if getattr(self, name) is not None}
        for name, shape in shapes.items():
            if (found := getattr(self, name).shape) != shape:
                raise ModelInvalid(f"the doubt's {name} has the shape {found} and not {shape}")
        numbers = {"noise": self.noise, "reach": self.reach, "shared": self.shared, "scale": self.scale}
        for name, value in numbers.items():
            if value is not None and not (np.isfinite(value) & (np.asarray(value) >= 0.0)).all():
                raise ModelInvalid(f"the doubt's {name} must be finite and not below zero")
        if not all(math.isfinite(one) and one > 0.0 for one in self.prior):
            raise ModelInvalid("the doubt's prior must be finite and above zero")
        if not np.isfinite(self.directions).all():
            raise ModelInvalid("the doubt's directions have numbers that are not finite")
