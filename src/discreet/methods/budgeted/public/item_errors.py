"""How far items' numbers are from those of the same run without noise. Public: sees releases only.

The numbers of an item have a variance before anything is learnt, and a noise in what was learnt; what is left follows
from both. Three things make the first larger for rare items than for those that the shared variances come from, and
all three are in the scores that a run without noise gives (docs/decisions/0115-errors-by-what-is-known.md):

- their numbers vary more, by a power of their popularity that the released numbers show;
- few people took them, and the scatter of these few stays in what a run without noise learns;
- how often they are taken is itself uncertain, and with it how far a step went.
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

# Scatter of what one person says about an item, in units of the squared residual: people count by different weights,
# and who takes rare items takes many.
_SCATTER = 2.7
# A score is a number times a weight. An interval needs less than the variance where weights scatter: for gamma weights
# as uncertain as they are large, and 90 %, half of what they add; less for items that are rarer than is thought.
_UNCERTAIN = 0.25
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


def left(prior: Floats, noise: Floats) -> Floats:
    """Variance left of each item's numbers, summed over directions; ``prior`` is one row for all items or one each."""
    variances: Floats = (prior * (noise[:, np.newaxis] / (prior + noise[:, np.newaxis]))).sum(axis=1)
    return variances


def click_variances(squares: Floats, prior: Floats, noise: Floats, items: Items, residual: float) -> Floats:
    """Variance left of each item's numbers, summed over directions, relative to what gravity leaves of them.

    Parameters
    ----------
    squares
        Summed over directions: of the numbers that were learnt, in the same units.
    prior
        Variance of the usual item's numbers, one for each direction.
    noise
        Variance of what the noise does to each item's numbers in each direction.
    residual
        Squared residual of single clicks.

    Notes
    -----
    A direction of prior variance p and noise n shows ``p^2 / (p + n)`` of itself, which is what ``squares`` are
    compared with.
    """
    scatter = _SCATTER * residual / items.taken
    some = np.argsort(-items.share, kind="stable")[:: -(-len(noise) // _ENOUGH)]
    place, own, known = items.place[some], scatter[some, np.newaxis], noise[some, np.newaxis]
    spread = prior * (1.0 + items.uncertain[some, np.newaxis])

    def shown(size: Floats) -> _Shown:
        vary = spread * size[:, np.newaxis]
        whole = vary + own
        mean = (np.square(whole) / (whole + known)).sum(axis=1)
        slope = vary * whole * (whole + 2.0 * known) / np.square(whole + known)
        return _Shown(mean, slope.sum(axis=1), np.square(mean / whole.sum(axis=1)))

    level, tilt, trust = _by_popularity(squares[some], place, shown)
    told = np.sqrt(trust)
    middle = float(told @ place / told.sum())
    lowest = middle - _AS_FAR_AS * float(np.sqrt(told @ np.square(place - middle) / told.sum()))
    size = _size(level + tilt * np.maximum(items.place, lowest)) * (1.0 + _UNCERTAIN * items.uncertain)
    return left(prior * size[:, np.newaxis] + scatter[:, np.newaxis], noise)


def offset_variances(heard: OffsetFilter, items: Items) -> Floats:
    """Variance left of each item's offset, where offsets are all there is (ratings).

    Notes
    -----
    An offset that varies by v around the line in log popularity, that its own ratings scatter by s, and that a noise n
    was added to, is drawn to that line and keeps k of what it differs by. What is left is
    ``(1 - k)^2 (v + s) + k^2 n``: the run without noise has the scatter too, and keeps nearly all of it. A step that
    went too far or not far enough because the weight is uncertain adds that part of the squared offset to n.
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
    variances: Floats = np.square(1.0 - kept) * (vary + heard.scatter) + np.square(kept) * noise
    return variances


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


def _size(logarithm: Floats) -> Floats:
    size: Floats = np.exp(np.clip(logarithm, -_MOST, _MOST))
    return size
