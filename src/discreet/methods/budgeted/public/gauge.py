"""Coordinates for the next round, and how strongly the users' ridge holds each direction. Public: sees releases only.

``b + V m`` and ``V M`` with ``M^-1 (u - m)`` is the same model as b and V with u. The mean of users' vectors goes to
the offsets, where the ridge does not hold it, and no direction can stand for an offset. The factors are turned and
stretched so that users' vectors are about uncorrelated and as large as the ridge expects. While directions are being
found they are all held as if their released spread were taste. In the end each is held by what is taste in it: a
user's few ratings move their vector by chance too, and how far follows from public numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet import kernels
from discreet.methods.budgeted.public.frame import Frame
from discreet.methods.budgeted.public.plan import Activity
from discreet.model.item_side import ItemSide
from discreet.types import Floats

__all__ = [
    "Directions",
    "Spread",
    "inverse_root",
    "regauge",
    "seen",
    "spread_of",
    "taste_of",
]

# The users' ridge at the end, in units of the mean squared residual.
_LAST = 2.0
# Smallest share of a direction's spread to take for taste: at the end, and while directions are still being found.
_LEAST_TASTE = 0.1
_LEAST_TASTE_YET = 0.8
# Smallest share of taste that a usual user's vector is taken to show.
_LEAST_SHOWN = 0.01


@dataclass(frozen=True)
class Spread:
    """Second moment of users' ``(1, u)``, mean squared residual, and what people take, all as released.

    Parameters
    ----------
    moment
        (1 + rank) square, 1 in its first entry.
    square
        Squared residual of a usual user, corrected for what users' own numbers explain.
    share
        Of all takes, one for each item.
    """

    moment: Floats
    square: float
    share: Floats

    @property
    def mean(self) -> Floats:
        """Of u."""
        return self.moment[0, 1:]

    @property
    def covariance(self) -> Floats:
        """Of u."""
        covariance: Floats = self.moment[1:, 1:] - np.outer(self.mean, self.mean)
        return covariance


def spread_of(frame: Frame, moment: Floats, square: float, share: Floats) -> Spread:
    """From a moment of phi, as users state it in ``frame``."""
    plain = frame.unwhiten @ moment @ frame.unwhiten.T
    return Spread(plain / plain[0, 0], square, share)


@dataclass(frozen=True)
class Directions:
    """Principal directions of factors over what people take.

    Parameters
    ----------
    square_factors
        Second moment of the factors over what people take.
    change
        What factors are multiplied by to be uncorrelated, where users' vectors vary by 1.
    power
        Mean square of each then.
    shown, chance
        How much of users' true variance their vectors show, and the variance by chance for residuals of size 1.
    """

    square_factors: Floats
    change: Floats
    power: Floats
    shown: Floats
    chance: Floats

    @classmethod
    def of(cls, side: ItemSide, spread: Spread, activity: Activity) -> Directions:
        """After a step, with the ridge at which users' vectors were computed."""
        square_factors = (side.factors.T * spread.share) @ side.factors
        change, power = _principal(square_factors, _root(spread.covariance))
        held = side.ridge.factor_penalty * np.einsum("ij,ij->j", change, change)
        return cls(square_factors, change, power, *seen(activity, power, held))

    def taste(self, spread: Spread, least: float) -> Floats:
        """Share of each direction's spread that is taste and not chance."""
        return np.maximum(1.0 - max(spread.square, 1e-6) * self.chance, least)


def regauge(
    side: ItemSide,
    frame: Frame,
    spread: Spread,
    activity: Activity,
    found: Directions,
    caution: float,
    *,
    last: bool,
) -> tuple[ItemSide, Frame, Floats]:
    """Coordinates after a round: the item side, the frame, and what factors were multiplied by.

    Parameters
    ----------
    side
        After the step.
    frame
        Of the round that has just ended.
    found
        Directions of ``side``.
    caution
        The users' ridge in the next round is this many times the mean squared residual.
    last
        Whether there is no next round: then directions are held by what is taste in them.
    """
    change, penalty = found.change, (_LAST if last else caution) * max(spread.square, 1e-6)
    taste = found.taste(spread, _LEAST_TASTE if last else _LEAST_TASTE_YET)
    if last and not frame.start:
        change = change * np.sqrt(taste / np.maximum(found.shown, _LEAST_SHOWN))
    else:
        # Cautiously: a ridge estimate of a unit vector is expected to be shorter by the root of its reliability.
        reliable = activity.ratings_per_user * np.maximum(found.power, 0.0)
        change = change / np.sqrt(np.maximum(reliable / (reliable + penalty), 0.1))
        if not frame.start:
            change = change * np.sqrt(taste)
    rule = replace(side.ridge, factor_penalty=penalty)
    return _moved(replace(side, rule=rule), found.square_factors, spread, change)


def taste_of(found: Directions, spread: Spread) -> Floats:
    """Mean square of each factor over what people take, as far as it is taste: what the end of a run makes of it."""
    taste = found.taste(spread, _LEAST_TASTE)
    held: Floats = np.maximum(found.power, 0.0) * taste / np.maximum(found.shown, _LEAST_SHOWN)
    return held


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

    ``square_factors`` is the factors' second moment over what people take.
    """
    power, turn = np.linalg.eigh(root.T @ square_factors @ root)
    return root @ turn, power


def _moved(
    side: ItemSide, square_factors: Floats, spread: Spread, change: Floats
) -> tuple[ItemSide, Frame, Floats]:
    moment, back = np.eye(1 + side.rank), np.linalg.inv(change)
    moment[1:, 1:] = back @ spread.covariance @ back.T
    frame = Frame(
        inverse_root(moment),
        float(np.sqrt(spread.square)),
        np.einsum("ij,ij->j", square_factors @ change, change),
    )
    offsets = side.offsets + kernels.transform_rows(side.factors, spread.mean[None])[:, 0]
    side = replace(side, offsets=offsets, factors=kernels.transform_rows(side.factors, change.T))
    return side, frame, change


def inverse_root(moment: Floats) -> Floats:
    """``moment ** -1/2``, with directions that hardly occur treated as if they occurred a little."""
    values, basis = np.linalg.eigh(moment)
    root: Floats = (basis / np.sqrt(np.maximum(values, 1e-3 * float(values.max())))) @ basis.T
    return root
