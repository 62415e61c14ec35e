"""Joint-DP Frank-Wolfe as its public half sees it: one released direction a round.

Jain, Thakkar, Thakurta: "Differentially Private Matrix Completion Revisited" (ICML 2018). A user's row and what is done
with a direction are in `discreet.model.fold_in.frank_wolfe`.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.methods.frank_wolfe.settings import FrankWolfeSettings
from discreet.methods.public_half import Facts, PublicHalf, Queries
from discreet.methods.query import Query, Trained
from discreet.methods.shared.public.sample import (
    SampledMean,
    UniformSample,
    ask_centre,
    draw_sample,
    typical_row_norm,
)
from discreet.methods.shared.public.spectrum import leading, noise_edge, seen_share
from discreet.model.fold_in import FrankWolfeReplay
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.clipped import CoMoments, NoisyMoment, NoisyProduct, Products
from discreet.types import Floats

__all__ = ["FRANK_WOLFE", "MomentQuery", "ProductQuery", "Steps", "train"]

Step = tuple[Floats, float]
"""A direction of length 1 and its eigenvalue in units of the row's bound; 0 where it cannot be told from noise."""

# Typical distance of a rating from the centre, in halves of the range: what the automatic bound on a row expects.
_SPREAD = 0.5
# A product along a direction that does not stand so many deviations out of its noise says nothing.
_DEVIATIONS = 3.0


@dataclass(frozen=True, eq=False)
class Steps:
    """Everything that a user's row follows from: what was sampled, and the steps so far.

    Parameters
    ----------
    sample, centre
        Which ratings, and what they are measured from.
    directions, eigenvalues
        Items x steps, and one for each; an eigenvalue of 0 is a step that was passed over.
    rounds
        T, the number of steps that there will be.
    row_clip, nuclear_bound
        L and c.
    """

    sample: UniformSample
    centre: float
    directions: Floats
    eigenvalues: Floats
    rounds: int
    row_clip: float
    nuclear_bound: float

    def after(self, direction: Floats, eigenvalue: float, nuclear_bound: float) -> Steps:
        """One step more."""
        return replace(
            self,
            directions=np.column_stack([self.directions, direction]),
            eigenvalues=np.append(self.eigenvalues, eigenvalue),
            nuclear_bound=nuclear_bound,
        )


@dataclass(frozen=True, eq=False)
class MomentQuery(Query[NoisyMoment]):
    """What is the second moment of users' rows of errors after these steps?"""

    steps: Steps

    @property
    def mechanism(self) -> CoMoments:
        """Items x items."""
        return CoMoments(len(self.steps.directions))


@dataclass(frozen=True, eq=False)
class ProductQuery(Query[NoisyProduct]):
    """What is the product of that second moment with a direction?"""

    steps: Steps
    direction: Floats

    @property
    def mechanism(self) -> Products:
        """One number for each item."""
        return Products(self.direction)


def train(settings: FrankWolfeSettings, facts: Facts, rng: np.random.Generator) -> Queries:
    """The centre, then one direction a round; users move along it and the next one is asked for."""
    rounds = settings.rounds
    planned = rounds * (settings.oja_steps if settings.eigenvector == "oja" else 1)
    planned += int(settings.centre == "mean" and facts.scale.explicit)
    sample = draw_sample(settings, facts, rng)
    centre, left = yield from ask_centre(settings, facts, sample, planned)
    typical = min(settings.typical_ratings, sample.max_ratings)
    clip = typical_row_norm(facts, typical, _SPREAD) if settings.row_clip == "auto" else settings.row_clip
    nuclear = 0.0 if settings.nuclear_bound == "auto" else settings.nuclear_bound
    steps = Steps(sample, centre, np.zeros((facts.n_items, 0)), np.zeros(0), rounds, clip, nuclear)
    for number in range(1, rounds + 1):
        name, mu = f"step {number}", left / math.sqrt(rounds)
        direction, eigenvalue = yield from _ask(settings, steps, name, mu, planned, rng)
        if not eigenvalue > 0.0:
            steps = steps.after(np.zeros(facts.n_items), 0.0, steps.nuclear_bound)
            continue
        square, nuclear = eigenvalue * clip**2, steps.nuclear_bound
        if not nuclear:
            nuclear = settings.nuclear_scale * math.sqrt(square) / seen_share(direction, typical)
        steps = steps.after(direction, square, nuclear)
    rule = FrankWolfeReplay(steps.eigenvalues, steps.nuclear_bound or clip, clip)
    return Trained(ItemSide(facts.scale, centre, np.zeros(facts.n_items), steps.directions, rule), rounds)


def _ask(
    settings: FrankWolfeSettings, steps: Steps, name: str, mu: float, planned: int, rng: np.random.Generator
) -> Generator[Query[Any], Any, Step]:
    """The next direction, exactly or by private Oja."""
    if settings.eigenvector == "oja":
        start = rng.standard_normal(len(steps.directions))
        return (yield from _oja(settings, steps, name, mu, planned, start))
    moment = yield MomentQuery(name, mu, steps, planned=planned)
    values, vectors = leading(moment.matrix, 1)
    value = float(values[0])
    edge = noise_edge(1.0 / moment.mu, len(moment.matrix)) if settings.skip_noise else 0.0
    return vectors[:, 0], value if value > edge else 0.0


def _oja(
    settings: FrankWolfeSettings, steps: Steps, name: str, mu: float, planned: int, start: Floats
) -> Generator[Query[Any], Any, Step]:
    """Private Oja. The last product gives the eigenvalue as well: no further release."""
    products, rate = settings.oja_steps, settings.oja_rate
    direction, along, edge = _unit(start), 0.0, 0.0
    for number in range(1, products + 1):
        part = f"{name}, product {number}"
        noisy = yield ProductQuery(part, mu / math.sqrt(products), steps, direction, planned=planned)
        along = float((direction * noisy.product).sum())
        direction = _unit(direction + rate * _unit(noisy.product))
        edge = _DEVIATIONS / noisy.mu if settings.skip_noise else 0.0
    return direction, along if along > edge else 0.0


def _unit(vector: Floats) -> Floats:
    """Scaled to length 1; zeros stay zeros."""
    length = float(np.sqrt((vector**2).sum()))
    return vector / max(length, 1e-300)


FRANK_WOLFE = PublicHalf(
    "frank-wolfe",
    FrankWolfeSettings,
    train,
    (SampledMean, MomentQuery, ProductQuery),
    public=("all settings", "the seed of the samples and the random start of the directions"),
    numbers=lambda settings, n_items: n_items * (n_items + settings.rounds + 4) + settings.rounds + 128,
)
