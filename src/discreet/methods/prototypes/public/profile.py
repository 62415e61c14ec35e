"""Offsets and factors of the items from what silos have released about deviations. Public: post-processing.

The model: a weighted sum of an item's deviations is its weight times the item's offset, plus noise of known scale; that
of a group of users is the group's share of the weight times offset and difference. Offsets are drawn to what items as
popular have (:func:`~discreet.methods.prototypes.public.believed.believed_offsets`), differences to nothing, each as
far as noise explains them. With noise alone both vanish, and what is left predicts each user's own mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.kernels.threads import one_blas_thread
from discreet.methods.prototypes.public.believed import believed_offsets
from discreet.methods.prototypes.public.evidence import SCATTER, WEIGHT_SHARE, Evidence, rating_weight
from discreet.methods.shared.public.item_weights import ItemWeights
from discreet.methods.shared.public.shrinkage import estimate
from discreet.types import Floats

__all__ = ["common_level", "differences", "factors", "offsets", "popularity"]

# Groups' sums have half of a user's ratings, scaled without the weights' part of the energy: so many times the weight
# of a rating.
_GROUP_WEIGHT = math.sqrt(2.0 * (1.0 + WEIGHT_SHARE / SCATTER))
# Groups are found from half of each user's ratings and mix users: their means show about half of how users differ.
_SPREAD = 2.0


def common_level(silos: Sequence[Evidence]) -> tuple[float, float]:
    """Mean of all users' own means, and the variance of what is wrong with it."""
    known = [silo.level_sigma**-2.0 for silo in silos]
    return float(np.average([silo.level for silo in silos], weights=known)), 1.0 / math.fsum(known)


def popularity(silos: Sequence[Evidence]) -> Floats:
    """Share of each item in all weight."""
    weight = ItemWeights(
        np.sum([silo.weights for silo in silos], axis=0),
        np.full(len(silos[0].weights), math.fsum(silo.weight_sigma**2 for silo in silos)),
    ).positive()
    shares: Floats = weight / weight.sum()
    return shares


def offsets(silos: Sequence[Evidence]) -> Floats:
    """The items' offsets, in half ranges; each silo counts by how much its users tell beside its noise."""
    trust = np.array([silo.users / (silo.sum_sigma**2 + _item_scatter(silo)) for silo in silos])
    trust /= trust.mean()
    sums = sum((one * silo.sums for one, silo in zip(trust, silos, strict=True)), np.zeros(1))
    weight = ItemWeights(
        sum((one * silo.weights for one, silo in zip(trust, silos, strict=True)), np.zeros(1)),
        np.full(len(sums), _square_sum(trust, [silo.weight_sigma for silo in silos])),
    ).positive()
    noise = _square_sum(trust, [silo.sum_sigma for silo in silos])
    scatter = SCATTER * float(
        np.average([rating_weight(silo.weights, silo.users) for silo in silos], weights=trust)
    )
    return believed_offsets(sums / weight, noise / weight**2 + scatter / weight, weight)


def differences(silos: Sequence[Evidence], rank: int) -> Floats:
    """How far each group of any silo lies from all users, groups x items, in half ranges.

    Groups of all silos are looked at together: directions in which they differ by more than noise could, at most
    `rank` of them, are kept, and along these every item is drawn to nothing as far as its noise explains.
    """
    grouped = [silo for silo in silos if len(silo.sizes)]
    n_items = len(silos[0].sums)
    if not grouped or rank == 0:
        return np.zeros((sum(len(silo.sizes) for silo in silos), n_items))
    share = popularity(silos)
    relative = share * n_items
    rows, sizes, noise = [], [], []
    common = relative * offsets(silos)
    common /= max(float(np.linalg.norm(common)), 1e-300)
    for silo in grouped:
        # What a group has in common with all users lies along the offsets; how much of it there is depends on its size,
        # which is known roughly.
        rows.append(silo.groups - np.outer(silo.groups @ common, common))
        part = _shares(silo)
        sizes.append(_GROUP_WEIGHT / 2.0 * silo.total / n_items * part)
        scatter = SCATTER * _GROUP_WEIGHT * rating_weight(silo.weights, silo.users)
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
    share = np.concatenate([silo.users * _shares(silo) for silo in grouped])
    with one_blas_thread():
        left, size, _ = np.linalg.svd(apart.T * np.sqrt(share / share.sum()), full_matrices=False)
    kept = size > 1e-6 * size[0]
    found: Floats = _SPREAD * left[:, kept] * size[kept]
    return found


def _standing_out(white: Floats, rank: int) -> Floats:
    """Directions, in columns, along which rows of unit noise spread further than noise does."""
    n_items, order = white.shape
    with one_blas_thread():
        values, vectors = np.linalg.eigh(white.T @ white)
    # Noise ends at the square of the sum of the roots, and the largest of it scatters around that a little.
    edge = (math.sqrt(n_items) + math.sqrt(order)) ** 2 * (1.0 + 2.0 * min(n_items, order) ** (-2.0 / 3.0))
    kept = np.argsort(-values)[: min(rank, int((values > edge).sum()))]
    return vectors[:, kept]


def _shares(silo: Evidence) -> Floats:
    """Each group's share of users; one that is lost in noise is taken for a quarter of an even part."""
    part = np.maximum(silo.sizes / silo.sizes.sum(), 0.25 / len(silo.sizes))
    shares: Floats = part / part.sum()
    return shares


def _item_scatter(silo: Evidence) -> float:
    """Variance of a usual item's sum by the scatter of single ratings."""
    return SCATTER * rating_weight(silo.weights, silo.users) * silo.total / len(silo.weights)


def _square_sum(trust: Floats, sigmas: Sequence[float]) -> float:
    return math.fsum((one * sigma) ** 2 for one, sigma in zip(trust, sigmas, strict=True))
