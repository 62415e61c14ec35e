"""Joint-DP Frank-Wolfe: what users contribute, and the class that people fit. Formulas stand in the public half."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.data.ratings import Ratings
from discreet.methods.method import PrivateMethod
from discreet.methods.public.query import Query
from discreet.methods.published.public.frank_wolfe import FRANK_WOLFE, MomentQuery, ProductQuery, Steps
from discreet.methods.shared.private import Sampler
from discreet.methods.shared.public.sample import SampledMean, alike
from discreet.model.fold_in import take_step
from discreet.privacy.gaussian.blocks import Block
from discreet.types import Floats

__all__ = ["FrankWolfe", "FrankWolfeContributions"]


class FrankWolfeContributions:
    """Integer contributions of some users. Their fit is a cache: it follows from the query's steps."""

    def __init__(self, ratings: Ratings) -> None:
        self._sampler = Sampler(ratings)
        self._cache: tuple[Steps, Floats] | None = None

    def contributions(self, query: Query[Any]) -> Sequence[Block]:
        """Contributions to this query."""
        if isinstance(query, SampledMean):
            return self._sampler.contributions(query)
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
                direction = np.ascontiguousarray(steps.directions[:, t])
                step = direction, float(steps.eigenvalues[t]), steps.rounds
                bounds = steps.nuclear_bound, steps.row_clip
                fit, _, _ = take_step(pattern.indptr, pattern.items, targets, fit, *step, *bounds)
        self._cache = (steps, fit)
        return fit


def _continues(steps: Steps, earlier: Steps) -> bool:
    """Whether these steps begin with the earlier ones, to the last bit."""
    count = len(earlier.eigenvalues)
    begun = replace(steps, directions=steps.directions[:, :count], eigenvalues=steps.eigenvalues[:count])
    if not earlier.eigenvalues.any():
        # Before the first step that is taken, the nuclear bound plays no part.
        begun = replace(begun, nuclear_bound=earlier.nuclear_bound)
    return alike(begun, earlier)


class FrankWolfe(PrivateMethod):
    """Completion under a nuclear-norm bound: every round releases one direction over the items.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. A round is one release of the
    users' second moment (or ``oja_steps`` products with it), rows clipped to the public bound; all cost the same and
    together the budget exactly, with the charged mean where there is one.

    Examples
    --------
    >>> from discreet import Budget, FrankWolfe
    >>> from discreet.data.synthetic import market
    >>> fitted = FrankWolfe(rounds=3).fit(market(1_000, 50, 12_000, rng=0), Budget(5.0, 1e-6), rng=0)
    >>> fitted.model_.item_side.factors.shape
    (50, 3)
    """

    public_half = FRANK_WOLFE
    private_half = FrankWolfeContributions
