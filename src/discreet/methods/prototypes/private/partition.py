"""The private partition: cubes with enough users are cut in half along every axis, down to a depth limit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.methods.prototypes.shares import ShareTable
from discreet.privacy.bounded_points import HALF_SIDE
from discreet.privacy.pure.gate import PureGate
from discreet.privacy.pure.noise import PureNoise
from discreet.types import Ints

__all__ = ["Cells", "cell_threshold", "find_cells"]

Keys = npt.NDArray[np.uint8]

_SIDE_BITS = (2 * HALF_SIDE).bit_length() - 1
_PARENT_BYTES = 4


@dataclass(frozen=True)
class Cells:
    """Public: centres of all cubes that were crowded, the root first, and how many each level had."""

    centres: Ints
    levels: tuple[int, ...]

    @property
    def only_root(self) -> bool:
        """Whether nothing but the whole cube survived."""
        return len(self.centres) == 1


def cell_threshold(settings: PrototypeSettings, dimension: int, shares: ShareTable) -> int:
    """Noisy number of users from which a cube counts as crowded."""
    if settings.threshold == "printed":
        # gamma = 20 / eps' log(n / delta) with eps' a level's share (algorithm 4).
        return max(1, math.ceil(20.0 / shares.level * math.log(settings.users / settings.failure)))
    if settings.threshold == "auto":
        return max(1, math.ceil((dimension * math.log(2.0) - math.log(settings.false_cells)) / shares.level))
    return settings.threshold


def find_cells(points: Ints, settings: PrototypeSettings, shares: ShareTable, gate: PureGate) -> Cells:
    """Cut the cube, level by level; a level's cells are disjoint, so that a user counts in one of them."""
    dimension = points.shape[1]
    threshold = cell_threshold(settings, dimension, shares)
    prefixes = np.zeros((1, dimension), dtype=np.int64)
    home = np.zeros(len(points), dtype=np.int64)
    found, levels = [_centres(prefixes, 0)], [1]
    for level in range(1, shares.levels + 1):
        bits = ((points + HALF_SIDE) >> (_SIDE_BITS - level)) & 1
        inside = home >= 0
        keys = _keys(home[inside], bits[inside])
        crowded = gate.crowded(
            "partition level",
            keys,
            universe=len(prefixes) << dimension,
            draw=_Any(len(prefixes), dimension),
            threshold=threshold,
            epsilon=shares.level,
        )
        levels.append(len(crowded))
        if not len(crowded):
            break
        parents, halves = _unpack(crowded, dimension)
        prefixes = 2 * prefixes[parents] + halves
        found.append(_centres(prefixes, level))
        home[inside] = _places(keys, crowded)
    return Cells(np.concatenate(found), tuple(levels))


@dataclass(frozen=True)
class _Any:
    """Draws one of the children of any of the cells, all alike."""

    parents: int
    dimension: int

    def __call__(self, noise: PureNoise) -> Keys:
        length = max(1, (self.parents - 1).bit_length())
        parent = self.parents
        while parent >= self.parents:
            parent = noise.bits(length)
        child = noise.bits(self.dimension)
        bits = np.array([[child >> place & 1 for place in range(self.dimension)]], dtype=np.int64)
        key: Keys = _keys(np.array([parent]), bits)[0]
        return key


def _keys(parents: Ints, bits: Ints) -> Keys:
    head = parents.astype(">u4").view(np.uint8).reshape(len(parents), _PARENT_BYTES)
    return np.concatenate([head, np.packbits(bits.astype(np.uint8), axis=1)], axis=1)


def _unpack(keys: Keys, dimension: int) -> tuple[Ints, Ints]:
    parents = np.ascontiguousarray(keys[:, :_PARENT_BYTES]).view(">u4").ravel().astype(np.int64)
    return parents, np.unpackbits(keys[:, _PARENT_BYTES:], axis=1)[:, :dimension].astype(np.int64)


def _places(keys: Keys, known: Keys) -> Ints:
    """Position of each key among the known ones, -1 for those that are not."""
    place = {row.tobytes(): number for number, row in enumerate(known)}
    return np.array([place.get(row.tobytes(), -1) for row in keys], dtype=np.int64)


def _centres(prefixes: Ints, level: int) -> Ints:
    return ((2 * prefixes + 1) << (_SIDE_BITS - level - 1)) - HALF_SIDE
