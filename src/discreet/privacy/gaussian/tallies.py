"""Contributions to the simplest statistics: a mean over users, a mean for each item, how often an item was chosen.

Every function turns private arrays into integer blocks whose energy is at most 1 for every user, whatever the arrays
hold, and reads the noisy sums back. Values are in units of half the rating range around its middle, so they lie in
[-1, 1]; what does not is clipped. The proof note is ``proofs/trivial.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.privacy.gaussian.blocks import Block, ItemVector, ItemWeight, UserVector
from discreet.privacy.gaussian.clipped import clip_entries
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.pattern import Pattern
from discreet.types import Floats

__all__ = ["ItemTallies", "release_choices", "release_item_tallies", "release_mean_of_means"]


_FEATURE = float(2**14)
_TARGET = float(2**15 - 1)
_WEIGHT = float(2**28)
_MEAN = float(2**20)
# Scaled down by this much before truncation, so that float rounding cannot lift an energy above 1.
_MARGIN = 1.0 - 1e-10
# A user's mean gets three quarters of their energy and the count one: the least noise in the ratio for an overall mean
# of a third, and for no mean more than 4/3 of the best split's variance.
_SUM, _COUNT = 0.75**0.5, 0.5
# An item's weights have this many times the noise of its sums.
_WEIGHT_UNIT = 2.0
# A number of users that does not stand this many deviations out of the noise is taken for that many.
_STANDS_OUT = 4.0


class ItemTallies(NamedTuple):
    """Noisy weighted sum of the values and noisy weight of each item, and the noise scale of both."""

    sums: Floats
    weights: Floats
    sum_sigma: float
    weight_sigma: float


def release_mean_of_means(gate: Gate, name: str, pattern: Pattern, values: Floats, *, mu: float) -> float:
    """Noisy mean over users of each user's own mean."""
    active = pattern.counts > 0
    own = np.clip(pattern.user_sums(clip_entries(values)) / np.maximum(pattern.counts, 1.0), -1.0, 1.0)
    rows = np.column_stack([_SUM * own, np.full(pattern.n_users, _COUNT)]) * active[:, None]
    block = UserVector("means", _MEAN, np.trunc(rows * (_MEAN * _MARGIN)).astype(np.int32))
    total, users = gate.release(name, [block], mu=mu)["means"] / (_MEAN * np.array([_SUM, _COUNT]))
    return float(np.clip(total / max(users, _STANDS_OUT / (mu * _COUNT)), -1.0, 1.0))


def release_item_tallies(
    gate: Gate, name: str, pattern: Pattern, values: Floats, *, mu: float
) -> ItemTallies:
    """For each item the noisy sums of ``omega x`` and ``omega``, omega such that every user has energy 1."""
    values = clip_entries(values)
    energy = pattern.user_sums(values**2) + pattern.counts / _WEIGHT_UNIT**2
    omega = _inverse_root(energy)
    per_pair = np.repeat(omega * _TARGET, np.diff(pattern.indptr))
    same = np.ones(pattern.n_items)
    blocks: list[Block] = [
        ItemVector(
            "sums",
            _FEATURE * _TARGET,
            pattern,
            same,
            np.full((pattern.n_users, 1), _FEATURE).astype(np.int16),
            np.trunc(values * per_pair).astype(np.int16),
        ),
        ItemWeight(
            "weights", _WEIGHT, pattern, same, np.trunc(omega * (_WEIGHT / _WEIGHT_UNIT)).astype(np.int32)
        ),
    ]
    released = gate.release(name, blocks, mu=mu)
    return ItemTallies(
        released["sums"][:, 0] / (_FEATURE * _TARGET),
        released["weights"] * (_WEIGHT_UNIT / _WEIGHT),
        1.0 / mu,
        _WEIGHT_UNIT / mu,
    )


def release_choices(gate: Gate, name: str, pattern: Pattern, *, mu: float) -> Floats:
    """For each item the noisy sum of ``1 / sqrt(number of items of the user)``, noise of scale 1 / mu."""
    weights = np.trunc(_inverse_root(pattern.counts) * _WEIGHT).astype(np.int32)
    block = ItemWeight("choices", _WEIGHT, pattern, np.ones(pattern.n_items), weights)
    return gate.release(name, [block], mu=mu)["choices"] / _WEIGHT


def _inverse_root(energy: Floats) -> Floats:
    """The factor that scales a contribution of this energy to 1; 0 for users without ratings."""
    factor = np.zeros_like(energy)
    filled = energy > 0
    factor[filled] = _MARGIN / np.sqrt(energy[filled])
    return factor
