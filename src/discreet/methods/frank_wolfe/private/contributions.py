"""What users contribute to the queries of private Frank-Wolfe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.methods.frank_wolfe.public.train import MomentQuery, ProductQuery, Steps
from discreet.methods.query import Query
from discreet.methods.shared.private.sample import Sampler
from discreet.methods.shared.public.sample import SampledMean
from discreet.model.fold_in.frank_wolfe import take_step
from discreet.privacy.gaussian.blocks import Block
from discreet.types import Floats

__all__ = ["FrankWolfeContributions"]


class FrankWolfeContributions:
    """Integer contributions of some users. Their fit is a cache: it follows from the query's steps.

    Parameters
    ----------
    ratings
        Private, over a public catalogue.
    """

    def __init__(self, ratings: Ratings) -> None:
        self._sampler = Sampler(ratings)
        self._cache: tuple[Steps, Floats] | None = None

    def contributions(self, query: Query[Any]) -> Sequence[Block]:
        """Contributions to this query."""
        if isinstance(query, SampledMean):
            return self._sampler.mean(query)
        assert isinstance(query, MomentQuery | ProductQuery)
        steps = query.steps
        ratings, pattern = self._sampler.take(steps.sample)
        errors = self._fit(steps) - (ratings.values - steps.centre)
        return query.mechanism.blocks(pattern, errors / steps.row_clip)

    def _fit(self, steps: Steps) -> Floats:
        """Fitted values on what was sampled, after all steps."""
        ratings, pattern = self._sampler.take(steps.sample)
        done, fit = 0, np.zeros(len(pattern.items))
        if self._cache is not None and _continues(steps, self._cache[0]):
            done, fit = len(self._cache[0].eigenvalues), self._cache[1]
        targets = ratings.values - steps.centre
        for t in range(done, len(steps.eigenvalues)):
            if steps.eigenvalues[t] > 0.0:
                fit, _, _ = take_step(
                    pattern.indptr,
                    pattern.items,
                    targets,
                    fit,
                    np.ascontiguousarray(steps.directions[:, t]),
                    float(steps.eigenvalues[t]),
                    steps.rounds,
                    steps.nuclear_bound,
                    steps.row_clip,
                )
        self._cache = (steps, fit)
        return fit


def _continues(steps: Steps, earlier: Steps) -> bool:
    """Whether these steps begin with the earlier ones, to the last bit."""
    count = len(earlier.eigenvalues)
    # Before the first step that is taken, the nuclear bound plays no part.
    same_bound = steps.nuclear_bound == earlier.nuclear_bound or not earlier.eigenvalues.any()
    return (
        same_bound
        and (steps.sample, steps.centre, steps.rounds, steps.row_clip)
        == (earlier.sample, earlier.centre, earlier.rounds, earlier.row_clip)
        and np.array_equal(steps.eigenvalues[:count], earlier.eigenvalues)
        and np.array_equal(steps.directions[:, :count], earlier.directions)
    )
