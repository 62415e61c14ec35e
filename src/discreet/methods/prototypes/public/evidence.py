"""What a silo has released about its users' deviations from their own level, and offsets and factors from it. Public.

Ours, not the paper's. The model: a weighted sum of an item's deviations is its weight times the item's
offset, plus noise of known scale; that of a group of users is the group's share of the weight times offset and
difference. Offsets are drawn to what items as popular have, differences to nothing, each as far as noise explains them.
With noise alone both vanish, and what is left predicts each user's own mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.catalogue import RatingScale
from discreet.kernels import one_blas_thread
from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.methods.shared.public.shrinkage import estimate
from discreet.model.fold_in import Ridge
from discreet.model.item_side import ItemSide
from discreet.privacy.gaussian.cluster_sums import NoisyClusterSums
from discreet.privacy.gaussian.tallies import NoisyTallies
from discreet.types import Floats

__all__ = ["Evidence", "count_groups", "differences", "factors", "level_side", "offsets"]

# Usual variance of a rating around user and item, in squared half ranges; and the energy of a one among the weights,
# where a deviation x has x^2 (`discreet.privacy.gaussian.tallies`).
_SCATTER, _WEIGHT_SHARE = 0.2, 0.25
# Groups' sums have half of a user's ratings, scaled without the weights' part of the energy: so many times the weight
# of a rating.
_GROUP_WEIGHT = math.sqrt(2.0 * (1.0 + _WEIGHT_SHARE / _SCATTER))
# Groups are found from half of each user's ratings and mix users: their means show about half of how users differ.
_SPREAD = 2.0
# A mean of users' means is drawn to the middle of the scale where users times mu are no more than this, and then says
# nothing.
_STANDS_OUT, _UNKNOWN = 8.0, 10.0
# Usual variance of users' levels, in squared half ranges. That of ratings over it, and over what is unknown of the mean
# level, is how many ratings at that level count beside the user's own: three at most.
_LEVELS = _SCATTER / 3.0
# Groups are told apart by what users have rated in common. Where a user has rated less than this share of the
# catalogue, groups follow the scatter of single ratings. A group's mean of an item is expected to lie so far from that
# of all, in half ranges: beyond the noise or not?
_DENSE, _DIFFERENCE, _MOST_GROUPS = 0.2, 0.125, 8
# One silo's noise can be so large that what it leaves by chance would cost more than offsets are worth: a spread, or a
# trend, counts beyond two standard errors only.
_MARGIN, _STEPS = 2.0, 20


@dataclass(frozen=True, eq=False)
class Evidence:
    """Noisy sums with the scale of their noise; values are in half ranges.

    Mean of the users' own means, less the middle of the scale, and how many users there are; for each item the weighted
    sum of the deviations and of the weights; and for each group of users (none where they were not grouped) the
    weighted sums of the deviations, groups x items, and its number of users.
    """

    level: float
    level_sigma: float
    users: float
    sums: Floats
    weights: Floats
    sum_sigma: float
    weight_sigma: float
    groups: Floats
    group_sigma: float
    sizes: Floats

    @classmethod
    def of(
        cls,
        level: float,
        level_mu: float,
        users: float,
        items: NoisyTallies,
        groups: NoisyClusterSums | None = None,
        sizes: Floats | None = None,
    ) -> Evidence:
        """From releases, in the 32-bit numbers that are sent."""
        known = level_mu * users > _STANDS_OUT
        return cls(
            level=level,
            level_sigma=math.sqrt(4.0 / 3.0) / (level_mu * users) if known else _UNKNOWN,
            users=max(users, 1.0),
            sums=_as_sent(items.sums),
            weights=_as_sent(items.weights),
            sum_sigma=items.sum_sigma,
            weight_sigma=items.weight_sigma,
            groups=np.zeros((0, len(items.sums))) if groups is None else _as_sent(groups.sums),
            group_sigma=1.0 if groups is None else groups.sigma,
            sizes=np.zeros(0) if sizes is None else _as_sent(np.maximum(sizes, 1.0)),
        )

    @property
    def total(self) -> float:
        """Weight of all items together, never below the noise of that sum."""
        return max(float(self.weights.sum()), self.weight_sigma * math.sqrt(len(self.weights)))

    @property
    def rating_scatter(self) -> float:
        """What one usual rating adds to the variance of an item's sum, for each unit of the item's weight."""
        return _SCATTER * _rating_weight(self.weights, self.users)

    @property
    def shares(self) -> Floats:
        """Each group's share of users; one that is lost in noise is taken for a quarter of an even part."""
        part = np.maximum(self.sizes / self.sizes.sum(), 0.25 / len(self.sizes))
        shares: Floats = part / part.sum()
        return shares


def count_groups(weights: Floats, sigma: float, users: float, mu: float) -> int:
    """The most groups whose differences from all would stand out of the noise at `mu`; 1 where two would not.

    From the noisy weight of each item, the scale of its noise, and the noisy number of users.
    """
    typical_ratings = 1.0 / ((_SCATTER + _WEIGHT_SHARE) * _rating_weight(weights, users) ** 2)
    if typical_ratings < _DENSE * len(weights):
        return 1
    usual = np.sqrt(max(float((weights**2).mean()) - sigma**2, 0.0))
    return int(np.clip(_DIFFERENCE * mu * usual, 1, _MOST_GROUPS))


def level_side(silos: Sequence[Evidence], scale: RatingScale, rank: int) -> ItemSide:
    """Offsets, and at most `rank` factors; a user's own level is fitted with the user's vector."""
    low, high = scale.bounds
    middle, half = (low + high) / 2.0, (high - low) / 2.0
    found = factors(silos, differences(silos, rank))
    known = [silo.level_sigma**-2.0 for silo in silos]
    level, unknown = float(np.average([silo.level for silo in silos], weights=known)), 1.0 / math.fsum(known)
    # Factors are scaled so that users have variance 1, so the ridge is the variance of a rating around the fit.
    rule = Ridge(_SCATTER / (_LEVELS + unknown), _SCATTER * half**2)
    return ItemSide(scale, middle + half * level, half * offsets(silos), half * found, rule)


def offsets(silos: Sequence[Evidence]) -> Floats:
    """The items' offsets, in half ranges; each silo counts by how much its users tell beside its noise."""
    usual = [silo.rating_scatter * silo.total / len(silo.weights) for silo in silos]
    trust = np.array(
        [silo.users / (silo.sum_sigma**2 + chance) for silo, chance in zip(silos, usual, strict=True)]
    )
    trust /= trust.mean()
    sums = sum((one * silo.sums for one, silo in zip(trust, silos, strict=True)), np.zeros(1))
    weight = ItemWeights(
        sum((one * silo.weights for one, silo in zip(trust, silos, strict=True)), np.zeros(1)),
        np.full(len(sums), _square_sum(trust, [silo.weight_sigma for silo in silos])),
    ).positive()
    noise = _square_sum(trust, [silo.sum_sigma for silo in silos])
    scatter = _SCATTER * float(
        np.average([_rating_weight(silo.weights, silo.users) for silo in silos], weights=trust)
    )
    return _believed(sums / weight, noise / weight**2 + scatter / weight, weight)


def differences(silos: Sequence[Evidence], rank: int) -> Floats:
    """How far each group of any silo lies from all users, groups x items, in half ranges.

    Groups of all silos are looked at together: directions in which they differ by more than noise could, at most
    `rank` of them, are kept, and along these every item is drawn to nothing as far as its noise explains.
    """
    grouped = [silo for silo in silos if len(silo.sizes)]
    n_items = len(silos[0].sums)
    if not grouped or rank == 0:
        return np.zeros((sum(len(silo.sizes) for silo in silos), n_items))
    relative = _popularity(silos) * n_items
    common = relative * offsets(silos)
    common /= max(float(np.linalg.norm(common)), 1e-300)
    rows, sizes, noise = [], [], []
    for silo in grouped:
        # What a group has in common with all users lies along the offsets; how much of it there is depends on its size,
        # which is known roughly.
        rows.append(silo.groups - np.outer(silo.groups @ common, common))
        sizes.append(_GROUP_WEIGHT / 2.0 * silo.total / n_items * silo.shares)
        scatter = _SCATTER * _GROUP_WEIGHT * _rating_weight(silo.weights, silo.users)
        noise.append(silo.group_sigma**2 + scatter * np.outer(sizes[-1], relative))
    size, variance = np.concatenate(sizes), np.concatenate(noise)
    scale = np.sqrt(variance.mean(axis=1))
    seen = (np.concatenate(rows) / scale[:, None]).T
    left = (variance / scale[:, None] ** 2).mean(axis=0)
    directions = _standing_out(seen / np.sqrt(left)[:, None], rank)
    if directions.shape[1] == 0:
        return np.zeros((len(size), n_items))
    found = estimate(seen @ directions, relative, left).vectors / relative[:, None]
    spread: Floats = (found @ directions.T).T * (scale / size)[:, None]
    return spread


def factors(silos: Sequence[Evidence], apart: Floats) -> Floats:
    """Items x at most as many as directions: the spread of users over the groups, in which users have variance 1."""
    grouped = [silo for silo in silos if len(silo.sizes)]
    if not apart.any():
        return np.zeros((len(silos[0].sums), 0))
    share = np.concatenate([silo.users * silo.shares for silo in grouped])
    with one_blas_thread():
        left, size, _ = np.linalg.svd(apart.T * np.sqrt(share / share.sum()), full_matrices=False)
    kept = size > 1e-6 * size[0]
    found: Floats = _SPREAD * left[:, kept] * size[kept]
    return found


def _believed(noisy: Floats, variance: Floats, weight: Floats) -> Floats:
    """Noisy offsets, drawn to a straight line in log weight, and the line to nothing, as far as noise explains them.

    What is rated often tends to be rated higher.
    """
    spread, line = 0.0, np.zeros_like(noisy)
    for _ in range(_STEPS):
        trust = 1.0 / (variance + spread)
        line = _line(noisy, trust, np.log(weight))
        square = trust**2
        excess = (square * ((noisy - line) ** 2 - variance)).sum() / square.sum()
        error = np.sqrt(2.0 * (square**2 * (variance + spread) ** 2).sum()) / square.sum()
        previous, spread = spread, max(float(excess - _MARGIN * error), 0.0)
        if abs(spread - previous) <= 1e-4 * previous:
            break
    found: Floats = line + spread / (spread + variance) * (noisy - line)
    return found


def _line(noisy: Floats, trust: Floats, place: Floats) -> Floats:
    """A level and a slope by least squares, each as far as its square is beyond so many times its variance."""

    def kept(square: float) -> float:
        return max(0.0, 1.0 - _MARGIN**2 / max(float(square), 1e-300))

    place = place - np.average(place, weights=trust)
    level = np.average(noisy, weights=trust)
    line = np.full_like(noisy, level * kept(level**2 * trust.sum()))
    curvature = float((trust * place**2).sum())
    if curvature > 0.0:
        slope = float((trust * place * noisy).sum()) / curvature
        line += slope * kept(slope**2 * curvature) * place
    return line


def _standing_out(white: Floats, rank: int) -> Floats:
    """Directions, in columns, along which rows of unit noise spread further than noise does."""
    n_items, order = white.shape
    with one_blas_thread():
        values, vectors = np.linalg.eigh(white.T @ white)
    # Noise ends at the square of the sum of the roots, and the largest of it scatters around that a little.
    edge = (math.sqrt(n_items) + math.sqrt(order)) ** 2 * (1.0 + 2.0 * min(n_items, order) ** (-2.0 / 3.0))
    kept = np.argsort(-values)[: min(rank, int((values > edge).sum()))]
    return vectors[:, kept]


def _popularity(silos: Sequence[Evidence]) -> Floats:
    """Share of each item in all weight."""
    weight = ItemWeights(
        np.sum([silo.weights for silo in silos], axis=0),
        np.full(len(silos[0].weights), math.fsum(silo.weight_sigma**2 for silo in silos)),
    ).positive()
    shares: Floats = weight / weight.sum()
    return shares


def _rating_weight(weights: Floats, users: float) -> float:
    """How much a usual rating counts: a user of n ratings has (n (scatter + 1/4))^(-1/2) for each."""
    each = max(float(weights.sum()), 1e-9) / max(users, 1.0)
    return 1.0 / ((_SCATTER + _WEIGHT_SHARE) * each)


def _square_sum(trust: Floats, sigmas: Sequence[float]) -> float:
    return math.fsum((one * sigma) ** 2 for one, sigma in zip(trust, sigmas, strict=True))


def _as_sent(values: Floats) -> Floats:
    return values.astype(np.float32).astype(np.float64)
