"""Public coordinates of items' factors and users' vectors, chosen anew after each round. Sees releases only.

``b + V m`` and ``V M`` with ``M^-1 (u - m)`` is the same model as b and V with u. The mean of users' vectors goes to
the offsets, where the ridge does not hold it, and no direction can stand for an offset. The factors are turned and
stretched so that users' vectors are about uncorrelated and as large as the ridge expects. While directions are being
found they are all held as if their released spread were taste. In the end each is held by what is taste in it: a
user's few ratings move their vector by chance too, and how far follows from public numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet import kernels
from discreet.methods.budgeted.public import constants as fitted
from discreet.methods.budgeted.public.plan import Activity
from discreet.model.item_side import ItemSide
from discreet.types import Floats

__all__ = ["Frame", "Spread", "seen", "spread_of", "whitened"]


@dataclass(frozen=True)
class Frame:
    """Public coordinates in which users state their features: ``phi = whiten @ (1, u)``.

    Parameters
    ----------
    whiten
        (1 + rank) square. The noise is the same in all directions of phi, so features should be about as
        large in all of them; the frame is taken from the previous round's released moment.
    residual
        Root mean square residual seen in the previous round (public estimate).
    power
        Mean square of each factor over what people take (public estimate): how much of a rating each explains.
    start
        Whether the factors are still a random start: then a step replaces them instead of adding to them.
    """

    whiten: Floats
    residual: float
    power: Floats
    start: bool = False

    @cached_property
    def unwhiten(self) -> Floats:
        """The inverse: from phi back to ``(1, u)``."""
        return np.asarray(np.linalg.inv(self.whiten), np.float64)

    @classmethod
    def first(cls, residual: float) -> Frame:
        """Of an item side without factors."""
        return cls(np.eye(1), residual, np.zeros(0))

    def degrees_of_freedom(self, counts: Floats, offset_penalty: float, factor_penalty: float) -> Floats:
        """How many of a user's ratings their own fitted numbers use up, from the number of ratings alone.

        A ridge regression of n ratings on a feature of mean square p uses ``n p / (n p + ridge)`` of one. Public but
        for the counts, so each user can work it out.
        """
        used = counts / (counts + offset_penalty)
        if not self.start:
            for power in self.power:
                used = used + counts * power / (counts * power + factor_penalty)
        return used


@dataclass(frozen=True)
class Spread:
    """Of users' vectors, their mean squared residual, and what people take (one share an item), all as released."""

    mean: Floats
    covariance: Floats
    square: float
    share: Floats


def spread_of(frame: Frame, moment: Floats, square: float, share: Floats) -> Spread:
    """From a moment of phi, as users state it in ``frame``."""
    plain = frame.unwhiten @ moment @ frame.unwhiten.T
    plain = plain / plain[0, 0]
    mean = plain[0, 1:]
    return Spread(mean, plain[1:, 1:] - np.outer(mean, mean), max(square, 1e-6), share)


def whitened(
    side: ItemSide, frame: Frame, spread: Spread, activity: Activity, ridge: float, *, last: bool
) -> tuple[ItemSide, Frame]:
    """Item side and frame after a round, in coordinates in which users' vectors are white.

    Parameters
    ----------
    side
        After the step.
    frame
        Of the round that has just ended.
    ridge
        The users' ridge in the next round is this many times the mean squared residual.
    last
        Whether there is no next round: then directions are held by what is taste in them.
    """
    square_factors = (side.factors.T * spread.share) @ side.factors
    change, power = _principal(square_factors, _root(spread.covariance))
    # With the ridge at which users' vectors were computed.
    held = side.ridge.factor_penalty * np.einsum("ij,ij->j", change, change)
    shown, chance = seen(activity, power, held)
    least = fitted.LEAST_LAST_TASTE if last else fitted.LEAST_TASTE
    taste, penalty = np.maximum(1.0 - spread.square * chance, least), ridge * spread.square
    if last and not frame.start:
        change = change * np.sqrt(taste / np.maximum(shown, 0.01))
    else:
        # Cautiously: a ridge estimate of a unit vector is expected to be shorter by the root of its reliability.
        reliable = activity.ratings_per_user * np.maximum(power, 0.0)
        change = change / np.sqrt(np.maximum(reliable / (reliable + penalty), 0.1))
        if not frame.start:
            change = change * np.sqrt(taste)
    moment, back = np.eye(1 + side.rank), np.linalg.inv(change)
    moment[1:, 1:] = back @ spread.covariance @ back.T
    powers = np.einsum("ij,ij->j", square_factors @ change, change)
    offsets = side.offsets + kernels.transform_rows(side.factors, spread.mean[None])[:, 0]
    rule = replace(side.ridge, factor_penalty=penalty)
    factors = kernels.transform_rows(side.factors, change.T)
    side = replace(side, offsets=offsets, factors=factors, rule=rule)
    return side, Frame(_inverse_root(moment), float(np.sqrt(spread.square)), powers)


def seen(activity: Activity, power: Floats, held: Floats) -> tuple[Floats, Floats]:
    """How much of users' true variance their estimates show, and the variance by chance for residuals of size 1.

    An estimate from n ratings is ``n p / (n p + held)`` of the true coefficient, and the scatter of single ratings adds
    ``n p / (n p + held)^2``. Both are averaged over the released numbers of ratings; a user counts in the moment about
    as the root of their number.
    """
    weight = activity.shares * np.sqrt(activity.sizes)
    weight = (weight / weight.sum())[:, None]
    curve = activity.sizes[:, None] * np.maximum(power, 1e-12)
    shown: Floats = (weight * (curve / (curve + held)) ** 2).sum(axis=0)
    chance: Floats = (weight * curve / (curve + held) ** 2).sum(axis=0)
    return shown, chance


def _root(covariance: Floats) -> Floats:
    values, basis = np.linalg.eigh(covariance)
    root: Floats = basis * np.sqrt(np.maximum(values, 1e-9 * max(float(values.max(initial=0.0)), 1e-12)))
    return root


def _principal(square_factors: Floats, root: Floats) -> tuple[Floats, Floats]:
    """``root``, turned so that factors are uncorrelated over what people take; and their mean squares.

    The largest entry of each direction is positive: which sign an eigenvector has depends on the last bits, and
    another sign meets other noise.
    """
    power, turn = np.linalg.eigh(root.T @ square_factors @ root)
    change = root @ turn
    largest = np.abs(change).argmax(axis=0)
    return change * np.where(change[largest, np.arange(len(largest))] < 0.0, -1.0, 1.0), power


def _inverse_root(moment: Floats) -> Floats:
    """``moment ** -1/2``, with directions that hardly occur treated as if they occurred a little."""
    values, basis = np.linalg.eigh(moment)
    root: Floats = (basis / np.sqrt(np.maximum(values, 1e-3 * float(values.max())))) @ basis.T
    return root
