"""What public features say of pairs: how much more often like items are taken together. Public.

Two items of masses d are expected to be taken together, beyond what the directions of a release say,

    root(d_i d_j) (constant + sum over groups of b_g f_ig . f_jg),

where f_ig are the features of item i in a group (authors, words of a title, genres). The constant and one number b for
each group follow from the released pairs by least squares. A group counts if its b is two deviations above the largest
that chance makes of so many groups, and never less than nothing. Features that say nothing leave the matrix as it is.

Privacy: a function of both releases and of public features, so post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls
from scipy.sparse import csr_array, hstack

from discreet.catalogue.features import ItemFeatures
from discreet.methods.ease.public.head import DEVIATIONS, Popularity
from discreet.types import AnyArray, Floats, Singles

__all__ = ["FeatureRows", "Said", "said"]

_ROWS = 128


@dataclass(frozen=True)
class Said:
    """What features say: the constant, and one number for each group."""

    constant: float
    groups: Floats


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """Features of some items.

    Parameters
    ----------
    groups
        Items x columns, one matrix for each group.
    roots
        Of the items' masses.
    """

    groups: tuple[csr_array, ...]
    roots: Singles

    @classmethod
    def of(cls, features: ItemFeatures, popular: Popularity) -> FeatureRows:
        """Of all items of the catalogue; each is taken once in a deviation of the noise at least."""
        matrix = features.matrix.astype(np.float32)
        numbers = range(len(features.groups))
        groups = tuple(csr_array(matrix[:, np.flatnonzero(features.group_of == one)]) for one in numbers)
        return cls(groups, np.sqrt(popular.weight * popular.counts).astype(np.float32))

    def take(self, items: npt.NDArray[np.integer]) -> FeatureRows:
        """Of these items alone."""
        return replace(self, groups=tuple(one[items] for one in self.groups), roots=self.roots[items])

    def blocks(self) -> Iterator[tuple[slice, Singles]]:
        """Some rows at a time: the constant's part of each pair, and each group's; nothing on the diagonal."""
        order = len(self.roots)
        for first in range(0, order, _ROWS):
            rows = slice(first, min(first + _ROWS, order))
            size = self.roots[rows, np.newaxis] * self.roots
            size[np.arange(rows.stop - first), np.arange(first, rows.stop)] = 0.0
            yield rows, np.stack([size, *((one[rows] @ one.T).toarray() * size for one in self.groups)])

    def add_to(self, matrix: Singles, found: Said, sign: float = 1.0) -> None:
        """The expected pairs, beside the diagonal."""
        numbers = (sign * np.concatenate([[found.constant], found.groups])).astype(np.float32)
        for rows, parts in self.blocks():
            matrix[rows] += np.tensordot(numbers, parts, 1)

    def weighted(self, found: Said) -> tuple[csr_array, Floats]:
        """All columns, each times the root of what it says, and these roots: products of rows are what is alike."""
        each = np.sqrt(found.groups)
        nothing = csr_array((len(self.roots), 0), dtype=np.float32)
        parts = [csr_array(one * np.float32(root)) for one, root in zip(self.groups, each, strict=True)]
        rows = csr_array(hstack([nothing, *parts]))
        rows.eliminate_zeros()
        return rows, np.repeat(each, [one.shape[1] for one in self.groups])


def said(pairs: Singles, features: FeatureRows) -> Said | None:
    """The constant and the groups' numbers, by least squares; ``None`` where no group stands out.

    Parameters
    ----------
    pairs
        What is to be explained: a symmetric matrix without a diagonal.
    features
        Of its items.
    """
    normal, right, squares = _sums(pairs, features)
    if len(right) == 1 or normal[0, 0] <= 0.0:
        return None
    # Beside the constant: what is more alike than the average pair.
    share = normal[0] / normal[0, 0]
    inner, right_inner = (normal - np.outer(normal[0], share))[1:, 1:], (right - right[0] * share)[1:]
    own = np.diagonal(inner).copy()
    # Both triangles are in the sums, so each pair's noise is there twice.
    chance = np.sqrt(2.0 * squares / max(pairs.size, 1) * own)
    bar = DEVIATIONS + math.sqrt(
        2.0 * math.log(len(own))
    )  # the largest of so many is about the root by chance
    out = np.flatnonzero((own > 1e-6 * np.diagonal(normal)[1:]) & (right_inner > bar * chance))
    if not len(out):
        return None
    unit = 1.0 / np.sqrt(own[out])
    values, vectors = np.linalg.eigh(inner[np.ix_(out, out)] * np.outer(unit, unit))
    roots = np.sqrt(np.maximum(values, 1e-6))
    solved, _ = nnls(roots[:, np.newaxis] * vectors.T, (vectors.T @ (right_inner[out] * unit)) / roots)
    groups = np.zeros(len(own))
    groups[out] = solved * unit
    return Said(float((right[0] - normal[0, 1:] @ groups) / normal[0, 0]), groups)


def _sums(pairs: Singles, features: FeatureRows) -> tuple[Floats, Floats, float]:
    """Products of all parts with each other and with the pairs, and the pairs' sum of squares."""
    size = 1 + len(features.groups)
    normal, right, squares = np.zeros((size, size)), np.zeros(size), 0.0
    for rows, parts in features.blocks():
        flat: AnyArray = parts.reshape(size, -1)
        seen = pairs[rows].ravel()
        normal += flat @ flat.T
        right += flat @ seen
        squares += float(seen @ seen)
    return normal, right, squares
