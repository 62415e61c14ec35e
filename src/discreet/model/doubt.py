"""How much of what the model says of each item is noise: one number an item, from the noise that was added."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self, TypeAlias

import numpy as np

from discreet.errors import ModelInvalid
from discreet.model.shapes import check_shapes
from discreet.types import Bools, Floats, Indices

__all__ = ["NOTHING_LEARNT", "Doubt", "Mark"]

NOTHING_LEARNT = 0.9
"""An item is unknown when this much of the variance is left that it had before anything was learnt."""

Mark: TypeAlias = Literal["unknown", "guess"]
"""``"unknown"``: next to nothing was learnt about the item; ``"guess"``: it was added after training."""


@dataclass(frozen=True, eq=False)
class Doubt:
    """Noise against signal, item by item.

    Parameters
    ----------
    noise_ratio
        Share of each item's variance that is left, from 0 (nothing is noise) to 1 (nothing was learnt).
    guessed
        Which items were added after training; ``None`` means none of them.

    Notes
    -----
    **Privacy.** Computed from what was released, so it is as public as the factors are.

    Examples
    --------
    >>> Doubt(np.array([0.01, 1.0])).marks(np.array([0, 1]))
    [None, 'unknown']
    """

    noise_ratio: Floats
    guessed: Bools | None = None

    @property
    def added(self) -> Bools:
        """Which items were added after training."""
        return np.zeros(len(self.noise_ratio), dtype=np.bool_) if self.guessed is None else self.guessed

    @cached_property
    def unknown(self) -> Bools:
        """Of which items next to nothing was learnt; a guess is none of them."""
        return (self.noise_ratio >= NOTHING_LEARNT) & ~self.added

    def marks(self, items: Indices) -> list[Mark | None]:
        """What to say about each item, by position; ``None`` where something was learnt about it."""
        return [
            "guess" if added else "unknown" if unknown else None
            for added, unknown in zip(self.added[items], self.unknown[items], strict=True)
        ]

    def with_guesses(self, count: int, noise_ratio: float) -> Self:
        """The same with ``count`` more items at the end, all guesses."""
        return type(self)(
            np.concatenate([self.noise_ratio, np.full(count, noise_ratio)]),
            np.concatenate([self.added, np.ones(count, dtype=np.bool_)]),
        )

    def check(self, n_items: int) -> None:
        """Refuse arrays that do not fit the model (`ModelInvalid`)."""
        check_shapes(self, noise_ratio=(n_items,), guessed=(n_items,))
        if not ((self.noise_ratio >= 0.0) & (self.noise_ratio <= 1.0)).all():
            raise ModelInvalid("the doubt's noise_ratio must lie between 0 and 1")
