"""Joint-DP Frank-Wolfe: completion under a nuclear-norm bound, one released direction a step.

Jain, Thakkar, Thakurta: "Differentially Private Matrix Completion Revisited" (ICML 2018). A user's row and what is done
with a direction are in `discreet.model.fold_in.replay`; here are the releases.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from discreet.data.ratings import Ratings
from discreet.methods.method import PrivateMethod, Progress, Trained, report
from discreet.methods.settings import Auto, Positive, Rounds
from discreet.methods.shared.private.centring import CentredSettings, Sample, release_centre, take_sample
from discreet.methods.shared.public.spectrum import leading, noise_edge, seen_share
from discreet.model.fold_in import FrankWolfeReplay
from discreet.model.fold_in.frank_wolfe import take_step
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.clipped import release_co_moment, release_products
from discreet.privacy.gaussian.gate import Gate
from discreet.types import Floats

__all__ = ["FrankWolfe", "FrankWolfeSettings"]

Step = tuple[Floats, float]
"""A direction of length 1 and its eigenvalue; 0 where it cannot be told from noise."""

# Usual distance of a rating from the centre, in halves of the range: what the automatic bound on a row expects.
_SPREAD = 0.5
# A product along a direction that does not stand so many deviations out of its noise says nothing.
_DEVIATIONS = 3.0


class FrankWolfeSettings(CentredSettings):
    """Private Frank-Wolfe.

    Attributes
    ----------
    steps
        T. Each step adds one direction, so it is the rank as well.
    eigenvector
        ``"exact"``: releases the items x items second moment and takes its first eigenvector. ``"oja"``: a noisy
        power method, in which nothing is larger than the ratings or the catalogue.
    oja_steps, oja_rate
        Products for one direction, and the length of the move that one of them makes (the direction has length 1).
    row_bound
        L, bound on a user's row of errors and of fitted values; ``"auto"`` is half of the rating range's half-width
        times the root of ``usual``.
    nuclear_bound
        c, bound on the nuclear norm of the completed matrix. ``"auto"``: ``nuclear_scale`` times the first singular
        value of the completed matrix, as the first released direction and eigenvalue tell it.
    nuclear_scale
        See there.
    skip_noise
        Whether a step whose eigenvalue does not stand out of its noise is passed over; the published method takes it.
    """

    steps: Rounds = 12
    eigenvector: Literal["exact", "oja"] = "exact"
    oja_steps: Rounds = 4
    oja_rate: Positive = 3.0
    row_bound: Positive | Auto = "auto"
    nuclear_bound: Positive | Auto = "auto"
    nuclear_scale: Positive = 4.0
    skip_noise: bool = True


class FrankWolfe(PrivateMethod[FrankWolfeSettings]):
    """Completion under a nuclear-norm bound: every step releases one direction over the items.

    Parameters
    ----------
    steps
        Number of directions.
    **settings
        Further public settings: see :class:`FrankWolfeSettings`.

    Attributes
    ----------
    model_ : Model
        What is released. The fitted object keeps nothing else of the ratings.
    statement_ : Statement
        The model's privacy statement.
    rank_, rounds_ : int
        Both the number of steps.

    Notes
    -----
    **Privacy**. Unit: one user with all ratings. Relation: add or remove one user. A step is one release of the
    users' second moment (or ``oja_steps`` products with it), rows clipped to the public bound; all cost the same and
    together the budget exactly, with the charged mean where there is one.

    Examples
    --------
    >>> from discreet import Budget
    >>> from discreet.methods.frank_wolfe.estimator import FrankWolfe
    >>> from discreet.data.synthetic import market
    >>> fitted = FrankWolfe(steps=3).fit(market(1_000, 50, 12_000, rng=0), Budget(5.0, 1e-6), rng=0)
    >>> fitted.model_.item_side.factors.shape
    (50, 3)
    """

    name = "frank-wolfe"
    settings_type = FrankWolfeSettings
    public = ("all settings", "the seed of the samples and the random start of the directions")

    def __init__(self, *, steps: int = 12, **settings: Any) -> None:
        super().__init__(steps=steps, **settings)

    def _train(
        self, ratings: Ratings, gate: Gate, rng: np.random.Generator, progress: Progress | None
    ) -> Trained:
        settings, steps = self.settings, self.settings.steps
        sample = take_sample(ratings, settings, rng)
        centre = release_centre(gate, sample, settings)
        bound = sample.row_norm(_SPREAD) if settings.row_bound == "auto" else settings.row_bound
        nuclear = 0.0 if settings.nuclear_bound == "auto" else settings.nuclear_bound
        mu = gate.ledger.remaining_mu / math.sqrt(steps)
        indptr, items, targets = sample.pattern.indptr, sample.pattern.items, sample.ratings.values - centre
        fit, directions, eigenvalues = (
            np.zeros(len(items)),
            np.zeros((ratings.n_items, steps)),
            np.zeros(steps),
        )
        for t in range(steps):
            report(progress, t, steps)
            direction, eigenvalue = self._release(gate, sample, (fit - targets) / bound, t, mu, rng)
            if not eigenvalue > 0.0:
                continue
            directions[:, t], eigenvalues[t] = direction, eigenvalue * bound**2
            if not nuclear:
                nuclear = (
                    settings.nuclear_scale * math.sqrt(eigenvalues[t]) / seen_share(direction, sample.usual)
                )
            fit, _, _ = take_step(
                indptr, items, targets, fit, direction, eigenvalues[t], steps, nuclear, bound
            )
        report(progress, steps, steps)
        side = ItemSide(
            ratings.scale,
            centre,
            np.zeros(ratings.n_items),
            directions,
            FrankWolfeReplay(eigenvalues, nuclear or bound, bound),
        )
        return Trained(side, steps)

    def _release(
        self, gate: Gate, sample: Sample, rows: Floats, step: int, mu: float, rng: np.random.Generator
    ) -> Step:
        """The next direction, from rows in units of their bound."""
        if self.settings.eigenvector == "exact":
            return _exact(gate, sample, rows, f"step {step + 1}", mu, skip_noise=self.settings.skip_noise)
        start = rng.standard_normal(sample.ratings.n_items)
        return self._oja(gate, sample, rows, f"step {step + 1}", mu, start)

    def _oja(self, gate: Gate, sample: Sample, rows: Floats, name: str, mu: float, start: Floats) -> Step:
        """Private Oja. The last product gives the eigenvalue as well: no further release."""
        products, rate = self.settings.oja_steps, self.settings.oja_rate
        mu /= math.sqrt(products)
        direction, along = _unit(start), 0.0
        for number in range(1, products + 1):
            part = f"{name}, product {number}"
            product = release_products(gate, part, sample.pattern, rows, direction, mu=mu)
            along = float((direction * product).sum())
            direction = _unit(direction + rate * _unit(product))
        edge = _DEVIATIONS / mu if self.settings.skip_noise else 0.0
        return direction, along if along > edge else 0.0


def _exact(gate: Gate, sample: Sample, rows: Floats, name: str, mu: float, *, skip_noise: bool) -> Step:
    """First eigenvector of the released second moment."""
    moment = release_co_moment(gate, name, sample.pattern, rows, mu=mu)
    values, vectors = leading(moment, 1)
    value = float(values[0])
    edge = noise_edge(1.0 / mu, len(moment)) if skip_noise else 0.0
    return vectors[:, 0], value if value > edge else 0.0


def _unit(vector: Floats) -> Floats:
    """Scaled to length 1; zeros stay zeros."""
    length = float(np.sqrt((vector**2).sum()))
    return vector / max(length, 1e-300)
