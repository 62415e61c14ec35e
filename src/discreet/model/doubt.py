"""How much of what the model says of each item is noise: one number an item, from the noise that was added.

Offset and factors of item j together have the posterior covariance

    C_j = sum over k of  d_k d_k^T * prior_k noise_j / (prior_k + noise_j)

with directions d_k and their prior variances shared by all items. An item that was seen well has the noise in all
directions, one that was not seen has the prior. The noise ratio says where in between it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
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
    guessed
        Which items were added after training; ``None`` means none of them.

    Notes
    -----
    **Privacy.** Computed from what was released, so it is as public as the factors are.

    Examples
    --------
    >>> doubt = Doubt(np.array([0.0101, 1e9]), np.eye(2), np.ones(2))
    >>> doubt.noise_ratio.round(3)
    array([0.01, 1.  ])
    >>> doubt.marks(np.array([0, 1]))
    [None, 'unknown']
    """

    noise: Floats
    directions: Floats
    prior: Floats
    guessed: Bools | None = None

    def __post_init__(self) -> None:
        """Rows beside each other in memory, as in `discreet.model.item_side.ItemSide`."""
        for name in ("noise", "directions", "prior"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), order="C"))

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

    @cached_property
    def noise_ratio(self) -> Floats:
        """Share of each item's variance that is left, from 0 (nothing is noise) to 1 (nothing was learnt)."""
        ratio: Floats = self.left @ self.prior / float(self.prior.sum())
        return ratio

    @cached_property
    def unknown(self) -> Bools:
        """Of which items next to nothing was learnt; a guess is none of them."""
        return (self.noise_ratio >= NOTHING_LEARNT) & ~self.added

    @property
    def factor_variances(self) -> Floats:
        """Expected squared distance of each item's factors from the true ones: the trace of their covariance."""
        variances: Floats = self.left @ self._along
        return variances

    @property
    def factors_known(self) -> Floats:
        """Share of the variance of each item's factors that is no longer left, from 0 (nothing is known) to 1."""
        known: Floats = 1.0 - self.left @ self._along / max(
            float(self._along.sum()), np.finfo(np.float64).tiny
        )
        return known

    @property
    def _along(self) -> Floats:
        """Prior variance of an item's factors along each direction; the offset's part is left out."""
        along: Floats = self.prior * np.square(self.directions[:, 1:]).sum(axis=1)
        return along

    def marks(self, items: Indices) -> list[Mark | None]:
        """What to say about each item, by position; ``None`` where something was learnt about it."""
        return [
            "guess" if added else "unknown" if unknown else None
            for added, unknown in zip(self.added[items], self.unknown[items], strict=True)
        ]

    def with_guesses(self, count: int, noise: float) -> Self:
        """The same with ``count`` more items at the end, all guesses of this noise."""
        return replace(
            self,
            noise=np.concatenate([self.noise, np.full(count, noise)]),
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
        if self.guessed is not None:
            shapes["guessed"] = (n_items,)
        for name, shape in shapes.items():
            if (found := getattr(self, name).shape) != shape:
                raise ModelInvalid(f"the doubt's {name} has the shape {found} and not {shape}")
        if not (np.isfinite(self.noise) & (self.noise >= 0.0)).all():
            raise ModelInvalid("the doubt's noise must be finite and not below zero")
        if not all(math.isfinite(one) and one > 0.0 for one in self.prior):
            raise ModelInvalid("the doubt's prior must be finite and above zero")
        if not np.isfinite(self.directions).all():
            raise ModelInvalid("the doubt's directions have numbers that are not finite")
