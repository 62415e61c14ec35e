"""What the clipped methods start from: some ratings of each user, less a centre, and public guesses of their size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from discreet.data.ratings import Ratings
from discreet.methods.settings import PrivateSettings, Share
from discreet.methods.shared.private.sampling import sample_uniform
from discreet.privacy.gaussian.clipped import release_mean
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.pattern import Pattern

__all__ = ["CentredSettings", "Most", "Sample", "SampleSettings", "release_centre", "take_sample"]

Most = Annotated[int, Field(ge=1, le=100_000)]


class SampleSettings(PrivateSettings):
    """Which ratings take part.

    Attributes
    ----------
    most
        A user takes part with at most this many ratings, drawn evenly; ``None`` takes all of them.
    usual
        Public guess of how many ratings a user has (at most ``most`` count); the automatic bounds follow it.
    """

    most: Most | None = 80
    usual: Most = 80


class CentredSettings(SampleSettings):
    """Which ratings take part and what they are measured from.

    Attributes
    ----------
    centre
        ``"middle"`` of the rating range, free, or the ``"mean"`` of the sampled ratings, charged.
    centre_share
        Share of mu^2 for that mean.
    """

    centre: Literal["middle", "mean"] = "middle"
    centre_share: Share = 0.02


@dataclass(frozen=True)
class Sample:
    """The ratings that take part. Private, but for the last three.

    Parameters
    ----------
    ratings
        At most ``most`` of each user.
    most
        Bound on a user's ratings; the catalogue's size where nothing was sampled.
    half_width
        Half of the rating range; 1 for implicit feedback, whose targets are 1.
    usual
        Public guess of a user's ratings, at most ``most``.
    """

    ratings: Ratings
    most: int
    half_width: float
    usual: int

    @cached_property
    def pattern(self) -> Pattern:
        """Who rated what in the sample."""
        return Pattern(self.ratings.indptr, self.ratings.items, self.ratings.n_items)

    @property
    def middle(self) -> float:
        """Middle of the rating range; 0 for implicit feedback."""
        return 0.0 if self.ratings.rating_range is None else 0.5 * sum(self.ratings.rating_range)

    def row_norm(self, spread: float) -> float:
        """Norm of a usual user's row whose entries are ``spread`` half-widths large."""
        return spread * self.half_width * math.sqrt(self.usual)


def take_sample(ratings: Ratings, settings: SampleSettings, rng: np.random.Generator) -> Sample:
    """Sample at most ``most`` ratings of each user; the seed of the draws is public."""
    seed = int(rng.integers(2**62))
    most = ratings.n_items if settings.most is None else min(settings.most, ratings.n_items)
    kept = ratings.keep(sample_uniform(ratings, most, seed))
    half_width = 1.0
    if ratings.rating_range is not None:
        low, high = ratings.rating_range
        half_width = 0.5 * (high - low)
    return Sample(kept, most, half_width, min(settings.usual, most))


def release_centre(gate: Gate, sample: Sample, settings: CentredSettings) -> float:
    """The centre of the model: free, or an estimate of the mean that spends its share of what is left."""
    if settings.centre == "middle" or not sample.ratings.explicit:
        return sample.middle
    mu = gate.ledger.remaining_mu * math.sqrt(settings.centre_share)
    scaled = (sample.ratings.values - sample.middle) / sample.half_width
    mean = release_mean(gate, "mean rating", sample.pattern, scaled, sample.most, mu=mu)
    return sample.middle + sample.half_width * mean
