"""Private projected gradient: every user steps on their own row, the spectrum of the stepped rows is shrunk.

The baseline of Jain, Thakkar, Thakurta (ICML 2018): the singular-value thresholding of Cai, Candes and Shen (2010) with
noisy steps. With Y the completed matrix, X the ratings on Omega and eta the step size, one step is

    W_i = Y_i - eta P_Omega(Y_i - X_i)      release sum_i W_i^T W_i      Y_i <- W_i V f V^T,   f = 1 - tau / s

where V and s are the released matrix's first eigenvectors and the roots of their eigenvalues; its diagonal, which holds
the scatter of single ratings, is left out. Y is kept as each user's weights on V. For fixed V and f the rows come to
rest at a ridge solution with penalty (1 / f - 1) / eta on each direction, which is what people are served with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet import kernels
from discreet.data.ratings import Ratings
from discreet.errors import CatalogueInvalid
from discreet.methods.method import PrivateMethod, Progress, Trained, report
from discreet.methods.settings import Auto, Positive, Rank, Rounds, Share
from discreet.methods.shared.private.centring import CentredSettings, Sample, release_centre, take_sample
from discreet.methods.shared.public.spectrum import beside_diagonal, leading, seen_share, signal
from discreet.model.fold_in import Clicks, OwnMean
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.clipped import clip_rows
from discreet.privacy.gaussian.dense_rows import release_dense_rows
from discreet.privacy.gaussian.gate import Gate
from discreet.types import Floats

__all__ = ["ProjectedGradient", "ProjectedGradientSettings"]


# Usual distance of a rating from the centre, in halves of the range: what the automatic bound on a row expects.
_SPREAD = 0.5
# A step releases items x items numbers and multiplies users x items x items.
_MOST_ITEMS = 5_000


class ProjectedGradientSettings(CentredSettings):
    """Private projected gradient.

    Attributes
    ----------
    steps, rank
        T, and most directions that are kept; in the end those that do not stand out of the noise are left out.
    step_size
        eta; ``"auto"`` is 1 over the share of the first released direction that a usual user's items carry (and
        ``gravity``).
    shrinkage
        tau, in units of the first released singular value.
    row_bound
        L, bound on a user's row of ratings less the centre; ``"auto"`` is half of the rating range's half-width times
        the root of ``usual``. A row over all items is longer by eta, at most by the root of items / ``usual``.
    gravity
        Weight of unseen items as zeros (implicit feedback); ``"auto"`` is 20 times ``usual`` as a share of the items,
        at most 1.
    """

    steps: Rounds = 4
    rank: Rank = 8
    step_size: Positive | Auto = "auto"
    shrinkage: Share = 0.05
    row_bound: Positive | Auto = "auto"
    gravity: Positive | Auto = "auto"


@dataclass(frozen=True)
class _Rows:
    """All rows Y as weights on directions (private weights, public directions), and how they came about (public)."""

    weights: Floats
    directions: Floats
    shrinks: Floats
    eta: float = 1.0


class ProjectedGradient(PrivateMethod[ProjectedGradientSettings]):
    """Singular-value shrinkage of rows that every user improves by a gradient step.

    Parameters
    ----------
    steps, rank
        Number of steps, and most directions.
    **settings
        Further public settings: see :class:`ProjectedGradientSettings`.

    Attributes
    ----------
    model_ : Model
        What is released. The fitted object keeps nothing else of the ratings.
    statement_ : Statement
        The model's privacy statement.
    rank_, rounds_ : int
        Directions that stood out of the noise, and steps.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. A step is one release of the second
    moment of the users' rows, clipped to a public bound; all cost the same and together the budget exactly, with the
    charged mean where there is one.

    Examples
    --------
    >>> from discreet import Budget
    >>> from discreet.methods.projected_gradient.estimator import ProjectedGradient
    >>> from discreet.data.synthetic import market
    >>> fitted = ProjectedGradient(steps=3).fit(market(1_000, 50, 12_000, rng=0), Budget(20.0, 1e-6), rng=0)
    >>> [release.name for release in fitted.statement_.releases]
    ['step 1', 'step 2', 'step 3']
    """

    name = "projected-gradient"
    settings_type = ProjectedGradientSettings
    public = ("all settings", "the seed of the samples")

    def __init__(self, *, steps: int = 4, rank: int = 8, **settings: Any) -> None:
        super().__init__(steps=steps, rank=rank, **settings)

    def _train(
        self, ratings: Ratings, gate: Gate, rng: np.random.Generator, progress: Progress | None
    ) -> Trained:
        if ratings.n_items > _MOST_ITEMS:
            raise CatalogueInvalid(
                f"projected gradient releases a matrix of items x items in every step; {ratings.n_items:,} items are "
                f"more than {_MOST_ITEMS:,}. Offer fewer items, or use Frank-Wolfe with eigenvector='oja'"
            )
        settings, steps, n_items = self.settings, self.settings.steps, ratings.n_items
        sample = take_sample(ratings, settings, rng)
        centre = release_centre(gate, sample, settings)
        targets = sample.ratings.values - centre
        mu = gate.ledger.remaining_mu / math.sqrt(steps)
        rows = _nothing(ratings)
        for t in range(steps):
            report(progress, t, steps)
            rows = self._step(gate, sample, targets, rows, t, mu)
        report(progress, steps, steps)
        penalties = (1.0 / rows.shrinks - 1.0) / rows.eta
        side = ItemSide(
            ratings.scale,
            centre,
            np.zeros(n_items),
            rows.directions / np.sqrt(penalties),
            OwnMean(np.zeros(n_items)) if ratings.explicit else Clicks(self._gravity(sample)),
        )
        return Trained(side, steps)

    def _step(self, gate: Gate, sample: Sample, targets: Floats, rows: _Rows, t: int, mu: float) -> _Rows:
        """Everyone steps, the second moment is released, everyone's row is shrunk.

        A direction that is mostly noise may still be led right by later steps, so only the last one leaves out what
        does not stand out.
        """
        pattern, settings = sample.pattern, self.settings
        bound = self._bound(sample, rows.eta)
        stay = 1.0 - rows.eta * self._gravity(sample)
        moves = rows.eta * kernels.residuals(
            pattern.indptr, pattern.items, targets, rows.weights, rows.directions
        )
        moment = release_dense_rows(
            gate,
            f"step {t + 1}",
            pattern,
            moves / bound,
            rows.weights * (stay / bound),
            rows.directions,
            mu=mu,
        )
        values, vectors = leading(beside_diagonal(moment), settings.rank)
        last = t == settings.steps - 1
        singular = np.sqrt(signal(values, 1.0 / mu, len(moment)) if last else np.maximum(values, 0.0))
        threshold = settings.shrinkage * float(singular.max(initial=0.0))
        kept = singular > threshold
        if not kept.any():
            return _nothing(sample.ratings) if last else rows
        vectors, shrinks, eta = vectors[:, kept], 1.0 - threshold / singular[kept], rows.eta
        if not rows.shrinks.size:
            # From zero, the first rows have the same directions for any step size: now it can be chosen.
            eta = self._step_size(sample, vectors[:, 0])
            moves = moves * (eta / rows.eta)
        weights = kernels.transform_rows(rows.weights * stay, vectors.T @ rows.directions)
        weights += np.column_stack([pattern.user_sums(moves * v[pattern.items]) for v in vectors.T])
        bound = self._bound(sample, eta)
        return _Rows(bound * clip_rows(weights * (shrinks / bound)), vectors, shrinks, eta)

    def _bound(self, sample: Sample, eta: float) -> float:
        """Bound on a row over all items: the one on a row of ratings, as much longer as a step can make it."""
        bound = self.settings.row_bound
        usual = sample.row_norm(_SPREAD) if bound == "auto" else bound
        return usual * min(eta, math.sqrt(sample.ratings.n_items / sample.usual))

    def _step_size(self, sample: Sample, direction: Floats) -> float:
        if self.settings.step_size != "auto":
            return self.settings.step_size
        return 1.0 / (seen_share(direction, sample.usual) + self._gravity(sample))

    def _gravity(self, sample: Sample) -> float:
        if sample.ratings.explicit:
            return 0.0
        usual = min(1.0, 20.0 * sample.usual / sample.ratings.n_items)
        return usual if self.settings.gravity == "auto" else self.settings.gravity


def _nothing(ratings: Ratings) -> _Rows:
    return _Rows(np.zeros((ratings.n_users, 0)), np.zeros((ratings.n_items, 0)), np.zeros(0))
