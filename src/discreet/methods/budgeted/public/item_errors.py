"""How far items' numbers are from those of the same run without noise. Public: sees releases only.

The numbers of an item have a variance before anything is learnt, and a noise in what was learnt; what is left follows
from both. Three things make the first larger for rare items than for those that the shared variances come from, and
all three are in the scores that a run without noise gives (docs/decisions/0115-errors-by-what-is-known.md):

- their numbers vary more, by a power of their popularity that the released numbers show;
- few people took them, and the scatter of these few stays in what a run without noise learns;
- how often they are taken is itself uncertain, and with it how far a step went and what they are compared with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.methods.budgeted.public.offsets import OffsetFilter
from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.methods.shared.public.shrinkage import popularity_line
from discreet.types import Floats

__all__ = ["Items", "click_variances", "left", "offset_variances"]

# Scatter of what one person says about an item, in units of the squared residual, along directions as far as people's
# vectors reach. Fitted: people count by different weights, who takes rare items takes many, a run without noise follows
# more directions, and of weak directions less is learnt of rare items than their noise says.
_SCATTER = 8.0
# How far below the usual item the power of popularity is believed, in standard deviations of what it was found from.
_AS_FAR_AS = 1.5
# Of a large catalogue the power is found from so many items.
_ENOUGH = 5_000
_STEPS = 25
_MOST = 4.0  # of a logarithm


@dataclass(frozen=True)
class Items:
    """What is known of items beside their numbers.

    Parameters
    ----------
    share
        Of all takes, one for each item.
    uncertain
        Variance of that, relative to its square.
    taken
        How many people took each item.
    """

    share: Floats
    uncertain: Floats
    taken: Floats

    @classmethod
    def of(cls, popularity: ItemWeights, ratings: float) -> Items:
        """From released popularity and the released number of ratings."""
        positive = popularity.positive()
        share = positive / positive.sum()
        return cls(share, popularity.left() / np.square(positive), share * ratings)

    @property
    def place(self) -> Floats:
        """Log popularity above that of the usual item."""
        logarithm = np.log(self.share)
        place: Floats = logarithm - self.share @ logarithm
        return place


def left(prior: Floats, noise: Floats, along: Floats | None = None) -> Floats:
    """Variance left of each item's numbers, summed over directions.

    Parameters
    ----------
    prior
        Variances along directions, one row for all items or one each.
    noise
        One for each item.
    along
        How much each direction counts; ``None`` means 1.
    """
    variances = prior * (noise[:, np.newaxis] / (prior + noise[:, np.newaxis]))
    summed: Floats = variances.sum(axis=1) if along is None else variances @ along
    return summed


def click_variances(
    squares: Floats, prior: Floats, noise: Floats, items: Items, residual: float, along: Floats
) -> Floats:
    """Variance left of a usual person's score of each item, relative to what gravity leaves of it.

    Parameters
    ----------
    squares
        Items x directions: of the numbers that were learnt, in the same units.
    prior
        Variance of the usual item's numbers, one for each direction.
    noise
        Variance of what the noise does to each item's numbers in each direction.
    residual
        Squared residual of single clicks.
    along
        Mean square of people's vectors along each direction: how much it counts in scores.

    Notes
    -----
    A direction of prior variance p and noise n shows ``p^2 / (p + n)`` of itself, which is what ``squares`` are
    compared with. Weights that are uncertain are in what is shown, and not in what is left: few items are taken more
    often than is thought, and most less, so that nine tenths of the errors need no more than sure weights do.
    """
    scatter = _SCATTER * residual / items.taken
    some = np.argsort(-items.share, kind="stable")[:: -(-len(noise) // _ENOUGH)]
    place, own, known = items.place[some], scatter[some, np.newaxis], noise[some, np.newaxis]
    spread = prior * (1.0 + items.uncertain[some, np.newaxis])

    def shown(size: Floats) -> _Shown:
        vary = spread * size[:, np.newaxis]
        whole = vary + own
        mean = (np.square(whole) / (whole + known)) @ along
        slope = (vary * whole * (whole + 2.0 * known) / np.square(whole + known)) @ along
        return _Shown(mean, slope, np.square(mean / (whole @ along)))

    level, tilt, trust = _by_popularity(squares[some] @ along, place, shown)
    told = np.sqrt(trust)
    middle = float(told @ place / told.sum())
    lowest = middle - _AS_FAR_AS * float(np.sqrt(told @ np.square(place - middle) / told.sum()))
    size = _size(level + tilt * np.maximum(items.place, lowest))
    return left(prior * size[:, np.newaxis] + scatter[:, np.newaxis], noise, along)


def offset_variances(heard: OffsetFilter, items: Items) -> Floats:
    """Variance left of each item's offset, where offsets are all there is (ratings).

    Notes
    -----
    An offset that varies by v around the line in log popularity, that its own ratings scatter by s, and that a noise n
    was added to, is drawn to that line and keeps k of what it differs by. What is left is
    ``(1 - k)^2 (v + s) + k^2 n``: the run without noise has the scatter too, and keeps nearly all of it. A step that
    went too far or not far enough because the weight is uncertain adds that part of the squared offset to n. And the
    line is found from numbers that weights have multiplied, in which items count that are taken more often than is
    thought; the item itself is as often taken less. For weights that are lognormal with the relative variance U, and a
    line of slope b, that is off by ``b log(1 + U)``.
    """
    noise = 1.0 / heard.known
    known = noise + heard.scatter
    line, usual = popularity_line(heard.mean, known, items.share)

    def shown(size: Floats) -> _Shown:
        return _Shown(usual * size + known, usual * size, np.ones_like(size))

    level, tilt, _ = _by_popularity(np.square(heard.mean - line), items.place, shown)
    vary = usual * _size(level + tilt * items.place)
    kept = usual / (usual + known)
    noise = noise + items.uncertain * (vary + np.square(line))
    misplaced = _slope(line, items.place) * np.log1p(items.uncertain)
    variances: Floats = np.square(1.0 - kept) * (vary + heard.scatter) + np.square(kept) * noise
    return variances + np.square(misplaced)


@dataclass(frozen=True)
class _Shown:
    """Expected squares, what they change by as the logarithm of the variance does, and how much each item tells."""

    mean: Floats
    slope: Floats
    trust: Floats


def _by_popularity(
    squares: Floats, place: Floats, shown: Callable[[Floats], _Shown]
) -> tuple[float, float, Floats]:
    """Level and power of popularity of a variance, relative to the usual one: a gamma regression, by Fisher scoring."""
    level = tilt = 0.0
    now = shown(np.ones_like(place))
    for _ in range(_STEPS):
        relative = now.slope / now.mean
        design = np.column_stack([relative, relative * place])
        weighted = design * now.trust[:, np.newaxis]
        normal = weighted.T @ design + 1e-9 * np.eye(2)
        step = np.linalg.solve(normal, weighted.T @ (squares / now.mean - 1.0))
        level += float(np.clip(step[0], -0.5, 0.5))
        tilt += float(np.clip(step[1], -0.3, 0.3))
        now = shown(_size(level + tilt * place))
        if np.abs(step).max() < 1e-3:
            break
    return level, tilt, now.trust


def _slope(line: Floats, place: Floats) -> float:
    """Of a line in ``place``."""
    first, last = int(place.argmin()), int(place.argmax())
    rise, run = float(line[last] - line[first]), float(place[last] - place[first])
    return rise / run if run > 0.0 else 0.0


def _size(logarithm: Floats) -> Floats:
    size: Floats = np.exp(np.clip(logarithm, -_MOST, _MOST))
    return size
