"""The silo's model once the factors are back: its users' vectors, predictions and orders of items."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from discreet import kernels
from discreet.data.ratings import Ratings
from discreet.errors import CatalogueMissing, ModelInvalid, RatingsInvalid
from discreet.evaluation.ranks import mean_percentile_rank
from discreet.kernels.nonnegative import solve_nonnegative
from discreet.methods.prototypes.public.message import GlobalFactors, catalogue_digest
from discreet.methods.prototypes.settings import FactorSettings
from discreet.types import Floats

__all__ = ["SiloRecommender"]


@dataclass(frozen=True, eq=False)
class SiloRecommender:
    """Predictions for users from their own ratings and the global factors.

    Notes
    -----
    **Privacy.** A user's vector is computed from that user's ratings and what the server sent. It stays in the silo
    and costs nothing.
    """

    factors: GlobalFactors
    settings: FactorSettings = field(default_factory=FactorSettings)

    def vectors(self, ratings: Ratings) -> Floats:
        """One non-negative vector for each user, from that user's ratings."""
        self._check(ratings)
        counts = np.maximum(np.diff(ratings.indptr), 1).astype(np.float64)
        penalty = self.settings.user_penalty * counts**self.settings.count_exponent
        return solve_nonnegative(ratings.indptr, ratings.items, ratings.values, self.factors.factors, penalty)

    def predict(self, vectors: Floats, pairs: Ratings) -> Floats:
        """The rating of every pair in `pairs` (row i belongs to vector i), clipped to the scale."""
        self._check(pairs)
        if len(vectors) != pairs.n_users:
            raise RatingsInvalid(f"{len(vectors)} vectors for {pairs.n_users} users")
        products = kernels.dot_pairs(
            np.repeat(np.arange(pairs.n_users), np.diff(pairs.indptr)),
            pairs.items,
            vectors,
            self.factors.factors,
        )
        return np.clip(products, *self.factors.rating_range)

    def percentile_rank(self, vectors: Floats, test: Ratings) -> float:
        """Mean percentile rank of the test ratings (equation 3 of the paper); 0.5 is a random order."""
        self._check(test)
        return mean_percentile_rank(
            lambda part: vectors[part] @ self.factors.factors.T, test.indptr, test.items, test.values
        )

    def _check(self, ratings: Ratings) -> None:
        if ratings.catalogue is None:
            raise CatalogueMissing("the global factors belong to a catalogue; give ratings the same one")
        if catalogue_digest(ratings.catalogue) != self.factors.catalogue:
            raise ModelInvalid("these ratings number items by another catalogue than the global factors do")
