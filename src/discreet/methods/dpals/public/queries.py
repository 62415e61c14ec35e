"""The queries of DPALS, and the sample of ratings that they are about. Public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from discreet.methods.query import Query, Trained
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.clipped import (
    CoMoments,
    ItemCounts,
    ItemNormalEquations,
    MeanValue,
    NoisyCounts,
    NoisyMoment,
    NormalEquations,
)
from discreet.types import Floats

__all__ = ["CountsQuery", "MeanQuery", "RoundQuery", "Sampling", "StartQuery"]


@dataclass(frozen=True, eq=False)
class Sampling:
    """Which ratings take part in the item step.

    Parameters
    ----------
    rule
        ``"tail"``: those of the rarest items; ``"uniform"``; ``"weights"``: all of them.
    seed
        Public, of the hashes by which users draw.
    max_ratings
        k, the most ratings of a user.
    counts
        Noisy number of users of each item.
    trained
        1 for the items that are trained, 0 for the others.
    """

    rule: Literal["tail", "uniform", "weights"]
    seed: int
    max_ratings: int
    counts: Floats
    trained: Floats


@dataclass(frozen=True, eq=False)
class CountsQuery(Query[NoisyCounts]):
    """How many users does each item have in the sample?"""

    sampling: Sampling

    @property
    def mechanism(self) -> ItemCounts:
        """One number for each item."""
        return ItemCounts(len(self.sampling.counts), self.sampling.max_ratings)


@dataclass(frozen=True, eq=False)
class MeanQuery(Query[float]):
    """What is the mean rating in the sample, in units of half the range around its middle?"""

    sampling: Sampling

    @property
    def mechanism(self) -> MeanValue:
        """A sum and a count."""
        return MeanValue(self.sampling.max_ratings)


@dataclass(frozen=True, eq=False)
class StartQuery(Query[NoisyMoment]):
    """What is the second moment of users' rows? Rows of at most k entries of size 1 have a norm of at most sqrt(k)."""

    sampling: Sampling
    centre: float
    entry_clip: float

    @property
    def mechanism(self) -> CoMoments:
        """Items x items."""
        return CoMoments(len(self.sampling.counts))


@dataclass(frozen=True, eq=False)
class RoundQuery(Query[NormalEquations]):
    """What are each item's normal equations, given the users' vectors at this item side?

    Parameters
    ----------
    number, rounds
        Which round, from 0, of how many.
    side
        Where the last round left off.
    row_clip, entry_clip
        Gamma_u and Gamma_M.
    sigma_matrix, sigma_vector, sigma_moment, item_weights
        Of the noise and of the items, see :class:`ItemNormalEquations`.
    split_users
        Whether a user's vector follows from this round's share of the user's ratings alone.
    """

    number: int
    rounds: int
    sampling: Sampling
    side: ItemSide
    row_clip: float
    entry_clip: float
    sigma_matrix: float
    sigma_vector: float
    sigma_moment: float | None
    item_weights: Floats
    split_users: bool

    @property
    def mechanism(self) -> ItemNormalEquations:
        """A matrix and a vector for each item."""
        return ItemNormalEquations(
            self.side.rank,
            self.sampling.max_ratings,
            self.sigma_matrix,
            self.sigma_vector,
            self.sigma_moment,
            self.item_weights,
            self.sampling.rule == "weights",
        )

    def so_far(self) -> Trained | None:
        """What the rounds before this one have taught."""
        return Trained(self.side, self.number) if self.number else None
