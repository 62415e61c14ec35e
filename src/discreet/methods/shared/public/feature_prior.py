"""What public item features say about released numbers: a random-effects regression. Public: sees releases only.

For each direction on its own, item j's true value is ``z_j = f_j . beta + e_j``, and what was released of it is
``y_j = w_j z_j + noise`` of known variance. The coefficients of one group of features (genres, authors, words of a
title) have one variance, the rest e another. All variances follow from the released numbers by moments, so features
that say nothing get none, and each group is believed as far as it explains each direction. This is post-processing:
it costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls
from scipy.sparse import csr_array

from discreet.catalogue.features import ItemFeatures
from discreet.types import Floats

__all__ = ["FeatureFit", "FeaturePrior"]

# A group's moment must exceed this many standard deviations of what it would be by chance.
_BEYOND = 3.0
# Precision of the conjugate gradients, relative to the right side.
_TOLERANCE = 1e-3
_MOST_STEPS = 60
# Share of a direction's variance that features never explain.
_OWN = 0.05


@dataclass(frozen=True)
class FeatureFit:
    """What features explain.

    Parameters
    ----------
    explained
        items x directions: the best linear estimate of ``f_j . beta``.
    coefficients
        feature columns x directions.
    own
        Variance of e in each direction.
    share
        Share of each direction's variance that features explain.
    """

    explained: Floats
    coefficients: Floats
    own: Floats
    share: Floats


class FeaturePrior:
    """Regression on the features of a catalogue.

    Parameters
    ----------
    features
        Public.
    """

    def __init__(self, features: ItemFeatures) -> None:
        matrix = features.matrix
        self._rows: csr_array = matrix
        self._columns: csr_array = csr_array(matrix.T)
        self._squares: csr_array = csr_array(self._columns.multiply(self._columns))
        self._group_of = features.group_of
        self._n_groups = len(features.groups)
        # Squared length of each item's row in each group: the diagonal of the group's kernel.
        by_group = np.zeros((matrix.shape[1], self._n_groups))
        by_group[np.arange(matrix.shape[1]), self._group_of] = 1.0
        self._by_group = by_group
        self._lengths: Floats = matrix.multiply(matrix) @ by_group

    @property
    def n_columns(self) -> int:
        """Number of feature columns."""
        return int(self._rows.shape[1])

    def alike(self, vectors: Floats, rng: np.random.Generator) -> Floats:
        """Random ``vectors`` of variance 1 mixed with as much that items with the same features share."""
        shared = self._rows @ rng.standard_normal((self.n_columns, vectors.shape[1]))
        size = float(np.sqrt(np.square(shared).mean()))
        return np.sqrt(0.5) * (vectors + shared / size) if size > 0.0 else vectors

    def fit(self, vectors: Floats, weight: Floats, variance: Floats, total: Floats) -> FeatureFit:
        """Variances by moments, then the best linear estimate.

        Parameters
        ----------
        vectors
            y, items x directions.
        weight, variance
            w and the known variance of the noise, one per item.
        total
            Variance of z in each direction, features and rest together.
        """
        vectors, total = np.asarray(vectors, dtype=np.float64), np.maximum(total, 1e-300)
        variances = self._variances(vectors, weight, variance, total)
        usual = self._usual_lengths(weight, variance, float(total.mean()))
        share = (variances * usual[:, None]).sum(axis=0) / total
        # Never more than the direction has.
        variances = variances / np.maximum(share / (1.0 - _OWN), 1.0)
        share = np.minimum(share, 1.0 - _OWN)
        own = total * (1.0 - share)
        coefficients = np.zeros((self.n_columns, vectors.shape[1]))
        active = np.flatnonzero(variances.sum(axis=0) > 0.0)
        if len(active):
            coefficients[:, active] = self._solve(
                vectors[:, active], weight, variance, own[active], variances[:, active]
            )
        return FeatureFit(self._rows @ coefficients, coefficients, own, share)

    def _usual_lengths(self, weight: Floats, variance: Floats, total: float) -> Floats:
        """Squared length of a row in each group, over items weighted by how much they tell."""
        trust = _trust(weight, variance, total)
        usual: Floats = (self._lengths * trust[:, None]).sum(axis=0) / max(float(trust.sum()), 1e-300)
        return usual

    def _variances(self, vectors: Floats, weight: Floats, variance: Floats, total: Floats) -> Floats:
        """Groups x directions: variance of a coefficient, from products of different items' numbers.

        For j != k the product ``y_j y_k`` has the mean ``w_j w_k sum_g s_g K_g[j, k]``, K_g the kernel of group g.
        Products weighted by how much the items tell, summed against each kernel, give one equation a group.
        """
        level = float(total.mean())
        scale = 1.0 / (weight**2 * level + variance)
        known = weight**2 * scale
        overlap = self._overlaps(known)
        own = (self._lengths * known[:, None]).T @ (self._lengths * known[:, None])
        system = np.maximum(overlap - own, 0.0)
        spread = np.sqrt(2.0 * np.maximum(np.diag(system), 0.0))
        told = vectors * (weight * scale)[:, None]
        sums = self._by_group.T @ np.square(self._columns @ told)
        moments = sums - self._lengths.T @ np.square(told)
        # By chance a moment scatters with this deviation, where the direction's variance is `total`.
        deviation = spread[:, None] * np.maximum(total / level, 1.0)[None, :]
        kept = moments * np.maximum(
            1.0
            - np.square(
                np.divide(_BEYOND * deviation, moments, out=np.ones_like(moments), where=moments > 0)
            ),
            0.0,
        )
        kept[moments <= 0.0] = 0.0
        found: Floats = np.zeros(kept.shape)
        usable = np.flatnonzero(np.diag(system) > 0.0)
        if len(usable):
            size = np.sqrt(np.diag(system)[usable])
            normal = system[np.ix_(usable, usable)] / np.outer(size, size)
            for direction in np.flatnonzero(kept[usable].any(axis=0)):
                found[usable, direction] = nnls(normal, kept[usable, direction] / size)[0] / size
        return found

    def _overlaps(self, known: Floats) -> Floats:
        """Groups x groups: sum over all pairs of items of both kernels, items weighted by ``known``."""
        product = (self._columns * known[None, :]) @ self._rows
        square = csr_array(product.multiply(product))
        overlaps: Floats = self._by_group.T @ (square @ self._by_group)
        return overlaps

    def _solve(
        self, vectors: Floats, weight: Floats, variance: Floats, own: Floats, variances: Floats
    ) -> Floats:
        """The coefficients, by preconditioned conjugate gradients on all directions at once."""
        # Precision of y_j around w_j f_j beta: the noise and the item's own part.
        precision = 1.0 / (variance[:, None] + weight[:, None] ** 2 * own[None, :])
        curve = weight[:, None] ** 2 * precision
        loose = variances[self._group_of] > 0.0
        ridge = np.divide(
            1.0, variances[self._group_of], out=np.zeros((self.n_columns, len(own))), where=loose
        )
        right = np.where(loose, self._columns @ (vectors * weight[:, None] * precision), 0.0)
        diagonal = self._squares @ curve + ridge
        diagonal = np.where(loose, diagonal, 1.0)
        found = np.zeros_like(right)
        residual = right.copy()
        ahead = residual / diagonal
        search, size = ahead.copy(), np.einsum("ij,ij->j", residual, ahead)
        goal = _TOLERANCE**2 * np.maximum(size, 1e-300)
        for _ in range(_MOST_STEPS):
            moved = np.where(loose, self._columns @ (curve * (self._rows @ search)) + ridge * search, 0.0)
            bend = np.einsum("ij,ij->j", search, moved)
            pace = np.divide(size, bend, out=np.zeros_like(size), where=bend > 0.0)
            found += search * pace
            residual -= moved * pace
            ahead = residual / diagonal
            size, before = np.einsum("ij,ij->j", residual, ahead), size
            if (size <= goal).all():
                break
            search = ahead + search * np.divide(size, before, out=np.zeros_like(size), where=before > 0.0)
        return found


def _trust(weight: Floats, variance: Floats, total: float) -> Floats:
    known: Floats = weight**2 / (weight**2 * total + variance)
    return known
