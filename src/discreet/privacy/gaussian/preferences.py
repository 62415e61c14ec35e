"""Which of a few candidates suits people best: everybody's preference, summed.

The proof note is ``proofs/preferences.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.privacy.gaussian.blocks import Block, UserVector
from discreet.privacy.gaussian.grid import LOSS, MARGIN
from discreet.types import Floats

__all__ = ["NoisyPreferences", "Preferences"]


class NoisyPreferences(NamedTuple):
    """Noisy sum over users of their preferences for each candidate, and the noise of each entry."""

    totals: Floats
    sigma: float


@dataclass(frozen=True)
class Preferences:
    """How much more than the mean of all candidates each of them suits a user, every user's vector at length 1.

    Parameters
    ----------
    candidates
        How many there are.

    Notes
    -----
    **Privacy**. Unit: one user. A user who prefers anything adds a vector of length 1, others add nothing: the L2
    change is at most 1, whatever the scores are. A score outside [0, 1] is clipped, and what is no number counts as 0.
    """

    candidates: int

    def blocks(self, scores: Floats) -> list[Block]:
        """From users x candidates, each between 0 and 1: how well the candidate suits the user."""
        clipped = np.clip(np.nan_to_num(scores, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)
        apart = clipped - clipped.mean(axis=1, keepdims=True)
        length = np.sqrt(np.einsum("ij,ij->i", apart, apart))[:, np.newaxis]
        # Candidates that suit alike differ by the rounding of their mean alone.
        differ = length > 1e-9
        rows = np.where(differ, apart / np.where(differ, length, 1.0), 0.0)
        return [UserVector("preferences", LOSS, np.trunc(rows * (LOSS * MARGIN)).astype(np.int32))]

    def empty(self) -> list[Block]:
        """Nobody's."""
        return self.blocks(np.zeros((0, self.candidates)))

    def read(self, released: Mapping[str, Floats], mu: float) -> NoisyPreferences:
        """In users."""
        return NoisyPreferences(released["preferences"] / LOSS, 1.0 / mu)
