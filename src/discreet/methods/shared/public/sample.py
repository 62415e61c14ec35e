"""Which ratings of a user take part, as settings and querys say it; what is asked of a sample. Public."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.methods.public.half import Facts
from discreet.methods.public.query import Query
from discreet.methods.public.settings import MaxRatings, PrivateSettings, Share
from discreet.model.wire import to_parts
from discreet.privacy.accounting import remaining
from discreet.privacy.gaussian.clipped import ItemCounts, MeanValue, NoisyCounts
from discreet.types import Floats

__all__ = [
    "CentredSettings",
    "Sample",
    "SampleSettings",
    "SampledCounts",
    "SampledMean",
    "alike",
    "ask_centre",
    "draw_sample",
    "typical_row_norm",
]


class SampleSettings(PrivateSettings):
    """Which ratings take part.

    Parameters
    ----------
    max_ratings
        A user takes part with at most this many ratings, drawn evenly; ``None`` takes all of them.
    typical_ratings
        Public guess of how many ratings a user has (at most ``max_ratings`` count); the automatic bounds follow it.
    """

    max_ratings: MaxRatings | None = 80
    typical_ratings: MaxRatings = 80


class CentredSettings(SampleSettings):
    """Which ratings take part and what they are measured from.

    Parameters
    ----------
    centre
        ``"middle"`` of the rating range, free, or the ``"mean"`` of the sampled ratings, charged.
    centre_share
        Share of mu^2 for that mean.
    """

    centre: Literal["middle", "mean"] = "middle"
    centre_share: Share = 0.02


@dataclass(frozen=True, eq=False)
class Sample:
    """At most ``max_ratings`` of each user's ratings; which ones follows from the user's own ratings and this.

    Parameters
    ----------
    seed
        Public, of the hashes by which users draw.
    max_ratings
        k.
    rule
        ``"uniform"``: drawn evenly; ``"tail"``: of the rarest items by ``counts``; ``"weights"``: all ratings, whose
        weights are bounded instead.
    counts
        Noisy number of users of each item.
    trained
        1 for the items that may be sampled, 0 for the others; ``None`` for all of them.
    """

    seed: int
    max_ratings: int
    rule: Literal["uniform", "tail", "weights"] = "uniform"
    counts: Floats | None = None
    trained: Floats | None = None


@dataclass(frozen=True, eq=False)
class SampledCounts(Query[NoisyCounts]):
    """How many users does each item have in the sample?"""

    sample: Sample
    n_items: int

    @property
    def mechanism(self) -> ItemCounts:
        """One number for each item."""
        return ItemCounts(self.n_items, self.sample.max_ratings)


@dataclass(frozen=True, eq=False)
class SampledMean(Query[float]):
    """What is the mean rating in the sample, in units of half the range around its middle?"""

    sample: Sample

    @property
    def mechanism(self) -> MeanValue:
        """A sum and a count."""
        return MeanValue(self.sample.max_ratings)


def alike(one: Any, other: Any) -> bool:
    """Whether two public records are the same to the last bit."""
    (said, arrays), (others, theirs) = to_parts(one), to_parts(other)
    same = said == others and arrays.keys() == theirs.keys()
    return same and all(np.array_equal(array, theirs[name]) for name, array in arrays.items())


def draw_sample(settings: SampleSettings, facts: Facts, rng: np.random.Generator) -> Sample:
    """The sample's public seed and size; the size of the catalogue where nothing is left out."""
    seed = int(rng.integers(2**62))
    most = settings.max_ratings
    return Sample(seed, facts.n_items if most is None else min(most, facts.n_items))


def ask_centre(
    settings: CentredSettings, facts: Facts, sample: Sample, planned: int
) -> Generator[Query[Any], Any, tuple[float, float]]:
    """The centre of the model, free or a charged estimate of the mean; and what is left to spend."""
    scale = facts.scale
    if settings.centre == "middle" or not scale.explicit:
        return scale.middle, facts.mu
    mu = facts.mu * math.sqrt(settings.centre_share)
    mean: float = yield SampledMean("mean rating", mu, sample, planned=planned)
    return scale.middle + scale.half_width * mean, remaining(facts.mu, mu)


def typical_row_norm(facts: Facts, typical: int, spread: float) -> float:
    """Norm of a typical user's row whose entries are ``spread`` half-widths large."""
    return spread * facts.scale.half_width * math.sqrt(typical)
