"""Private projected gradient: every user steps on their own row, the spectrum of the stepped rows is shrunk.

The baseline "DP projected gradient descent" of the poster 001 (Jain, Thakkar, Thakurta, ICML 2018): the singular-value
thresholding of Cai, Candes and Shen (2010) with noisy steps. With Y the completed matrix, X the ratings on Omega and
eta the step size, one round is

    W_i = Y_i - eta P_Omega(Y_i - X_i)      release sum_i W_i^T W_i      Y_i <- W_i V f V^T,   f = 1 - tau / s

where V and s are the released matrix's first eigenvectors and the roots of their eigenvalues; its diagonal, which holds
the scatter of single ratings, is left out. Y is kept as each user's weights on V. Ours (docs/lab): for fixed V and
f the rows come to rest at a ridge solution with penalty (1 / f - 1) / eta on each direction. That serves people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from discreet.errors import CatalogueInvalid
from discreet.methods.public.half import Facts, PublicHalf, Queries
from discreet.methods.public.query import Query, Trained
from discreet.methods.public.settings import Auto, Positive, Rank, Rounds, Share
from discreet.methods.shared.public.sample import (
    CentredSettings,
    Sample,
    SampledMean,
    ask_centre,
    draw_sample,
    typical_row_norm,
)
from discreet.methods.shared.public.spectrum import beside_diagonal, leading, seen_share, signal
from discreet.model.fold_in import Clicks, FoldIn, OwnMean
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.clipped import DenseMoments, NoisyMoment
from discreet.types import Floats

__all__ = ["PROJECTED_GRADIENT", "ProjectedGradientSettings", "RowState", "RowsQuery", "Shrunk"]

# Typical distance of a rating from the centre, in halves of the range: what the automatic bound on a row expects.
_SPREAD = 0.5
# A round releases items x items numbers and multiplies users x items x items.
_MOST_ITEMS = 5_000


class ProjectedGradientSettings(CentredSettings):
    """Private projected gradient.

    Parameters
    ----------
    rounds, rank
        T, and most directions that are kept; in the end those that do not stand out of the noise are left out.
    step_size
        eta; ``"auto"`` is 1 over the share of the first released direction that a typical user's items carry (and
        ``gravity``).
    shrinkage
        tau, in units of the first released singular value.
    row_clip
        L, bound on a user's row of ratings less the centre; ``"auto"`` is half of the rating range's half-width times
        the root of ``typical_ratings``. A row over all items is longer by eta, at most by the root of items /
        ``typical_ratings``.
    gravity
        Weight of unseen items as zeros (clicks); ``"auto"`` is 20 times ``typical_ratings`` as a share of the items, at
        most 1.
    """

    rounds: Rounds = 4
    rank: Rank = 8
    step_size: Positive | Auto = "auto"
    shrinkage: Share = 0.05
    row_clip: Positive | Auto = "auto"
    gravity: Positive | Auto = "auto"


@dataclass(frozen=True, eq=False)
class Shrunk:
    """One round's outcome: directions (items x rank), the factor on each, and the step size from here on."""

    directions: Floats
    factors: Floats
    step_size: float


@dataclass(frozen=True, eq=False)
class RowState:
    """Everything that a user's row follows from: what was sampled, and the rounds so far that kept a direction."""

    sample: Sample
    centre: float
    n_items: int
    gravity: float
    row_clip: float
    typical_ratings: int
    shrunk: tuple[Shrunk, ...] = ()

    @property
    def step_size(self) -> float:
        """eta: 1 until the first directions are known."""
        return self.shrunk[-1].step_size if self.shrunk else 1.0

    @property
    def directions(self) -> Floats:
        """Those of the last round that kept any."""
        return self.shrunk[-1].directions if self.shrunk else np.zeros((self.n_items, 0))

    def bound(self, step_size: float) -> float:
        """Bound on a row over all items: the one on a row of ratings, as much longer as a step can make it."""
        return self.row_clip * min(step_size, math.sqrt(self.n_items / self.typical_ratings))


@dataclass(frozen=True, eq=False)
class RowsQuery(Query[NoisyMoment]):
    """What is the second moment of users' rows after one more gradient step?"""

    state: RowState

    @property
    def mechanism(self) -> DenseMoments:
        """Items x items."""
        return DenseMoments(self.state.directions)


def _train(settings: ProjectedGradientSettings, facts: Facts, rng: np.random.Generator) -> Queries:
    if facts.n_items > _MOST_ITEMS:
        raise CatalogueInvalid(
            f"projected gradient releases a matrix of items x items in every round; {facts.n_items:,} items are "
            f"more than {_MOST_ITEMS:,}. Offer fewer items, or use Frank-Wolfe with eigenvector='oja'"
        )
    rounds = settings.rounds
    planned = rounds + int(settings.centre == "mean" and facts.scale.explicit)
    sample = draw_sample(settings, facts, rng)
    centre, left = yield from ask_centre(settings, facts, sample, planned)
    typical = min(settings.typical_ratings, sample.max_ratings)
    clip = typical_row_norm(facts, typical, _SPREAD) if settings.row_clip == "auto" else settings.row_clip
    gravity = 0.0
    if not facts.scale.explicit:
        usual = min(1.0, 20.0 * typical / facts.n_items)
        gravity = usual if settings.gravity == "auto" else settings.gravity
    state = RowState(sample, centre, facts.n_items, gravity, clip, typical)
    for number in range(1, rounds + 1):
        moment = yield RowsQuery(f"step {number}", left / math.sqrt(rounds), state, planned=planned)
        state = _shrink(settings, state, moment, last=number == rounds)
    return Trained(_side(facts, state), rounds)


def _shrink(
    settings: ProjectedGradientSettings, state: RowState, moment: NoisyMoment, *, last: bool
) -> RowState:
    """The directions that rows are projected on next.

    A direction that is mostly noise may still be led right by later rounds, so only the last one leaves out what
    does not stand out.
    """
    values, vectors = leading(beside_diagonal(moment.matrix), settings.rank)
    found = signal(values, 1.0 / moment.mu, len(moment.matrix)) if last else np.maximum(values, 0.0)
    singular = np.sqrt(found)
    threshold = settings.shrinkage * float(singular.max(initial=0.0))
    kept = singular > threshold
    if not kept.any():
        return replace(state, shrunk=()) if last else state
    vectors, factors, step_size = vectors[:, kept], 1.0 - threshold / singular[kept], state.step_size
    if not state.shrunk:
        # From zero, the first rows have the same directions for any step size: now it can be chosen.
        step_size = 1.0 / (seen_share(vectors[:, 0], state.typical_ratings) + state.gravity)
        step_size = step_size if settings.step_size == "auto" else settings.step_size
    return replace(state, shrunk=(*state.shrunk, Shrunk(vectors, factors, step_size)))


def _side(facts: Facts, state: RowState) -> ItemSide:
    """Directions scaled so that a ridge of 1 is the fixed point of the rounds."""
    factors = state.directions
    if state.shrunk:
        last = state.shrunk[-1]
        factors = last.directions / np.sqrt((1.0 / last.factors - 1.0) / last.step_size)
    nothing = np.zeros(facts.n_items)
    rule: FoldIn = OwnMean(nothing) if facts.scale.explicit else Clicks(state.gravity)
    return ItemSide(facts.scale, state.centre, nothing, factors, rule)


PROJECTED_GRADIENT = PublicHalf(
    "projected-gradient",
    ProjectedGradientSettings,
    _train,
    (SampledMean, RowsQuery),
    public=("all settings", "the seed of the samples"),
    numbers=lambda settings, n_items: (n_items + 2) * (n_items + settings.rounds * (settings.rank + 1)) + 128,
)
