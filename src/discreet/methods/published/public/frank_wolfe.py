"""Joint-DP Frank-Wolfe: what it asks, and what it makes of the releases.

Jain, Thakkar, Thakurta: "Differentially Private Matrix Completion Revisited" (ICML 2018), the poster 001, which leaves
the details out. With L the bound on a row, k (here c) the one on the nuclear norm, Y = 0 at first, in each of T steps:

    A_i = P_Omega(Y_i - X_i), clipped to L                             "user-side computation", private
    v, lambda^2 = first eigenvector and eigenvalue of sum_i A_i' A_i + symmetric noise of scale L^2 / mu
    Y_i <- (1 - 1/T) Y_i - (c / T) (A_i . v / lambda) v, then |P_Omega(Y_i)| <= L      "local update rule", private

or, by private Oja, Gamma noisy products of sum_i A_i' A_i with a direction: v <- unit(v + eta unit(product + noise)).
Corrected or ours (docs/lab): lambda is the released one, never a norm of private rows; Y is kept as weights on the
directions; a step whose eigenvalue does not stand out of its noise is passed over (``skip_noise``); c and L follow from
public numbers. A user's row and what is done with a direction are in `discreet.model.fold_in`.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from discreet.methods.public.half import Facts, PublicHalf, Queries
from discreet.methods.public.query import Query, Trained
from discreet.methods.public.settings import Auto, Positive, Rounds
from discreet.methods.shared.public.sample import (
    CentredSettings,
    Sample,
    SampledMean,
    ask_centre,
    draw_sample,
    typical_row_norm,
)
from discreet.methods.shared.public.spectrum import leading, noise_edge, seen_share
from discreet.model.fold_in import FrankWolfeReplay
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.clipped import CoMoments, NoisyMoment, NoisyProduct, Products
from discreet.types import Floats

__all__ = ["FRANK_WOLFE", "FrankWolfeSettings", "MomentQuery", "ProductQuery", "Steps"]

# Typical distance of a rating from the centre, in halves of the range: what the automatic bound on a row expects.
_SPREAD = 0.5
# A product along a direction that does not stand so many deviations out of its noise says nothing.
_DEVIATIONS = 3.0
# eta, the length of the move that a product makes; the direction has length 1.
_OJA_RATE = 3.0


class FrankWolfeSettings(CentredSettings):
    """Private Frank-Wolfe.

    Parameters
    ----------
    rounds
        T. Each round adds one direction, so it is the rank as well.
    eigenvector
        ``"exact"``: releases the items x items second moment and takes its first eigenvector. ``"oja"``: a noisy
        power method, in which nothing is larger than the ratings or the catalogue.
    oja_steps
        Gamma, products for one direction.
    row_clip
        L, bound on a user's row of errors and of fitted values; ``"auto"`` is half of the rating range's half-width
        times the root of ``typical_ratings``.
    nuclear_bound
        c, bound on the nuclear norm of the completed matrix. ``"auto"``: ``nuclear_scale`` times the first singular
        value of the completed matrix, as the first released direction and eigenvalue tell it.
    nuclear_scale
        See there.
    skip_noise
        Whether a round whose eigenvalue does not stand out of its noise is passed over; the published method takes it.
    """

    rounds: Rounds = 12
    eigenvector: Literal["exact", "oja"] = "exact"
    oja_steps: Rounds = 4
    row_clip: Positive | Auto = "auto"
    nuclear_bound: Positive | Auto = "auto"
    nuclear_scale: Positive = 4.0
    skip_noise: bool = True


@dataclass(frozen=True, eq=False)
class Steps:
    """Everything that a user's row follows from: what was sampled, and the steps so far, of T (`rounds`).

    Directions are items x steps; an eigenvalue of 0 is a step that was passed over. L and c are the bounds.
    """

    sample: Sample
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


def _train(settings: FrankWolfeSettings, facts: Facts, rng: np.random.Generator) -> Queries:
    rounds, nothing = settings.rounds, np.zeros(facts.n_items)
    planned = rounds * (settings.oja_steps if settings.eigenvector == "oja" else 1)
    planned += int(settings.centre == "mean" and facts.scale.explicit)
    sample = draw_sample(settings, facts, rng)
    centre, left = yield from ask_centre(settings, facts, sample, planned)
    typical = min(settings.typical_ratings, sample.max_ratings)
    clip = typical_row_norm(facts, typical, _SPREAD) if settings.row_clip == "auto" else settings.row_clip
    nuclear = 0.0 if settings.nuclear_bound == "auto" else settings.nuclear_bound
    steps = Steps(sample, centre, np.zeros((facts.n_items, 0)), np.zeros(0), rounds, clip, nuclear)
    ask = _oja if settings.eigenvector == "oja" else _exact
    for number in range(1, rounds + 1):
        direction, value = yield from ask(
            settings, steps, f"step {number}", left / math.sqrt(rounds), planned, rng
        )
        if not value > 0.0:
            steps = steps.after(nothing, 0.0, steps.nuclear_bound)
            continue
        square, nuclear = value * clip**2, steps.nuclear_bound
        if not nuclear:
            nuclear = settings.nuclear_scale * math.sqrt(square) / seen_share(direction, typical)
        steps = steps.after(direction, square, nuclear)
    rule = FrankWolfeReplay(steps.eigenvalues, steps.nuclear_bound or clip, clip)
    return Trained(ItemSide(facts.scale, centre, nothing, steps.directions, rule), rounds)


# A direction of length 1 and its eigenvalue in units of the row's bound; 0 where it cannot be told from noise.
_Step = Generator[Query[Any], Any, tuple[Floats, float]]


def _exact(
    settings: FrankWolfeSettings, steps: Steps, name: str, mu: float, planned: int, rng: np.random.Generator
) -> _Step:
    moment = yield MomentQuery(name, mu, steps, planned=planned)
    values, vectors = leading(moment.matrix, 1)
    value = float(values[0])
    edge = noise_edge(1.0 / moment.mu, len(moment.matrix)) if settings.skip_noise else 0.0
    return vectors[:, 0], value if value > edge else 0.0


def _oja(
    settings: FrankWolfeSettings, steps: Steps, name: str, mu: float, planned: int, rng: np.random.Generator
) -> _Step:
    """The last product gives the eigenvalue as well: no further release, where the poster has one."""
    products = settings.oja_steps
    direction, along, edge = _unit(rng.standard_normal(len(steps.directions))), 0.0, 0.0
    for number in range(1, products + 1):
        part = f"{name}, product {number}"
        noisy = yield ProductQuery(part, mu / math.sqrt(products), steps, direction, planned=planned)
        along = float((direction * noisy.product).sum())
        direction = _unit(direction + _OJA_RATE * _unit(noisy.product))
        edge = _DEVIATIONS / noisy.mu if settings.skip_noise else 0.0
    return direction, along if along > edge else 0.0


def _unit(vector: Floats) -> Floats:
    """Scaled to length 1; zeros stay zeros."""
    length = float(np.sqrt((vector**2).sum()))
    return vector / max(length, 1e-300)


FRANK_WOLFE = PublicHalf(
    "frank-wolfe",
    FrankWolfeSettings,
    _train,
    (SampledMean, MomentQuery, ProductQuery),
    public=("all settings", "the seed of the samples and the random start of the directions"),
    numbers=lambda settings, n_items: n_items * (n_items + settings.rounds + 4) + settings.rounds + 128,
)
