"""What all releases together say about the items' offsets. Public: sees releases only."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.methods.shared.public.feature_prior import FeaturePrior
from discreet.methods.shared.public.shrinkage import regress_offsets
from discreet.types import Floats

__all__ = ["OffsetFilter"]

# How far a change of the unshrunk offsets from one release to the next is taken to last.
_LASTING = 0.2


@dataclass(frozen=True)
class OffsetFilter:
    """Offsets as released, averaged over the releases by how much each says: a Kalman filter.

    The average is not shrunk. Shrinking comes last and starts from it each time, so the line in log popularity, what
    features explain and how far both are believed are found again from all that is known, and what one release shrank
    away another can bring back.

    Parameters
    ----------
    mean, known
        The average, and one over the variance of its noise, one per item.
    scatter
        Variance of each item's offset by the scatter of single ratings around the fit. The ratings are the same in
        every release, so it does not average out.
    """

    mean: Floats
    known: Floats
    scatter: Floats

    def heard(self, offsets: Floats, known: Floats, scatter: Floats) -> OffsetFilter:
        """With one more release.

        Earlier releases are believed less where the fit has become better since, by the scatter that it now explains.
        And users' own numbers move from round to round, and offsets with them: by how much is what the two differ by
        beyond their noise, of which a part is taken to last.
        """
        moved = _LASTING * _beyond(offsets - self.mean, 1.0 / self.known + 1.0 / known)
        drift = moved + np.maximum(self.scatter - scatter, 0.0)
        before = self.known / (1.0 + self.known * drift)
        both = before + known
        return OffsetFilter((before * self.mean + known * offsets) / both, both, scatter)

    def moved(self, by: Floats) -> OffsetFilter:
        """What the same releases say where offsets are larger by ``by``: other coordinates, the same model."""
        return replace(self, mean=self.mean + by)

    def best(self, weight: Floats, prior: FeaturePrior | None) -> Floats:
        """Best estimates.

        Parameters
        ----------
        weight
            How much weight each item's users have together.
        prior
            Public features of the items.
        """
        best, _ = regress_offsets(self.mean, 1.0 / self.known + self.scatter, weight, prior)
        return best


def _beyond(change: Floats, variance: Floats) -> float:
    """Mean square of ``change`` beyond its known variance, items weighted by how much they tell."""
    square = 0.0
    for _ in range(10):
        trust = 1.0 / np.square(variance + square)
        square = max(float((trust * (change**2 - variance)).sum() / trust.sum()), 0.0)
    return square
