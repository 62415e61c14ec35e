"""Contributions bounded by worst cases, as the published methods do it: at most k items, |u| <= 1, |x| <= 1.

Every function here turns private arrays into integer blocks whose energy is at most 1 for every user, whatever the
arrays hold: what is too large is clipped here, and the bound follows from what was clipped, never from a number that
someone states. Rows are given in units of their public bound, so that "1" is the bound everywhere. The proof note is
``proofs/clipped.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet import kernels
from discreet.errors import SettingsInvalid
from discreet.privacy.gaussian.blocks import (
    Block,
    CoMoment,
    ItemMatrix,
    ItemVector,
    ItemWeight,
    UserMatrix,
    UserVector,
)
from discreet.privacy.gaussian.gate import Gate
from discreet.privacy.gaussian.pattern import Pattern
from discreet.types import Floats

__all__ = [
    "NormalEquations",
    "clip_entries",
    "clip_rows",
    "release_co_moment",
    "release_counts",
    "release_item_sums",
    "release_mean",
    "release_normal_equations",
    "release_products",
]


_ROW = float(2**14)
_ENTRY = float(2**15 - 1)
_COUNT = float(2**20)
# Scaled down by this much before truncation, so that float rounding cannot lift an energy above 1.
_MARGIN = 1.0 - 1e-10


def clip_rows(rows: Floats, bound: float = 1.0) -> Floats:
    """Each row scaled to a norm of at most ``bound`` (min, where the paper prints max); what is no number becomes 0."""
    norms = np.sqrt(kernels.square_norms(rows))
    scale = np.minimum(1.0, bound / np.maximum(norms, 1e-300))
    usable = np.isfinite(norms)
    return np.where(usable[:, None], rows, 0.0) * np.where(usable, scale, 0.0)[:, None]


def release_counts(gate: Gate, name: str, pattern: Pattern, most: int, *, mu: float) -> Floats:
    """Noisy number of users of each item; every user has at most ``most`` items in the pattern."""
    _at_most(pattern, most)
    unit = _COUNT * math.sqrt(most)
    weights = np.full(pattern.n_users, int(_COUNT * _MARGIN), dtype=np.int32)
    block = ItemWeight("counts", unit, pattern, np.ones(pattern.n_items), weights)
    return gate.release(name, [block], mu=mu)["counts"] / float(int(_COUNT * _MARGIN))


def release_mean(gate: Gate, name: str, pattern: Pattern, values: Floats, most: int, *, mu: float) -> float:
    """Noisy mean of all values (each clipped to [-1, 1]); every user has at most ``most`` of them.

    The sum and the number of values each move by up to ``most``, so the pair by sqrt(2) times that.
    """
    _at_most(pattern, most)
    sums = pattern.user_sums(clip_entries(values))
    grid = _COUNT * _MARGIN
    rows = np.trunc(np.column_stack([sums, pattern.counts]) * (grid / most)).astype(np.int32)
    unit = _COUNT * math.sqrt(2.0)
    total, count = gate.release(name, [UserVector("sum and count", unit, rows)], mu=mu)["sum and count"]
    # Fewer than one user's worth of ratings cannot be told from none.
    return float(np.clip(total / max(count, grid), -1.0, 1.0))


def release_item_sums(
    gate: Gate, name: str, pattern: Pattern, values: Floats, most: int, *, mu: float
) -> tuple[Floats, Floats]:
    """Noisy sum of the values (clipped to [-1, 1]) and noisy number of users of each item, half the energy each."""
    _at_most(pattern, most)
    ones = np.full((pattern.n_users, 1), int(_ROW), dtype=np.int16)
    targets = np.trunc(clip_entries(values) * (_ENTRY * _MARGIN)).astype(np.int16)
    root = math.sqrt(2.0 * most)
    same = np.ones(pattern.n_items)
    count = int(_COUNT * _MARGIN)
    weights = np.full(pattern.n_users, count, dtype=np.int32)
    blocks: list[Block] = [
        ItemVector("sums", _ROW * _ENTRY * root, pattern, same, ones, targets),
        ItemWeight("counts", _COUNT * root, pattern, same, weights),
    ]
    released = gate.release(name, blocks, mu=mu)
    return released["sums"][:, 0] / (_ROW * _ENTRY), released["counts"] / count


@dataclass(frozen=True)
class NormalEquations:
    """What leaves for one step of DPALS: per item a matrix and a vector, and one moment over all users."""

    matrix: Floats
    vector: Floats
    moment: Floats | None


def release_normal_equations(
    gate: Gate,
    name: str,
    pattern: Pattern,
    rows: Floats,
    values: Floats,
    most: float,
    *,
    sigma_matrix: float,
    sigma_vector: float,
    sigma_moment: float | None = None,
    item_weights: Floats | None = None,
    fill: bool = False,
) -> NormalEquations:
    """For each item the noisy sums of ``u u^T`` and ``x u`` over its users, and of ``u u^T`` over all users.

    Parameters
    ----------
    gate
        Charged with ``mu^2 = most (1 / sigma_matrix^2 + 1 / sigma_vector^2) + 1 / sigma_moment^2``.
    rows
        u, users x rank; clipped to norm 1.
    values
        x, one for each pair; clipped to [-1, 1].
    most
        Bound on each user's sum of squared item weights; that is the number of items where there are no weights.
        A user above it is scaled down as a whole; with ``fill`` a user below it is scaled up as well.
    sigma_matrix, sigma_vector, sigma_moment
        Standard deviation of the noise, where |u| <= 1 and |x| <= 1. Without ``sigma_moment`` there is no moment.
    item_weights
        Public weight of each item in what a user hands in; the sums that come back have the weight taken off
        again, so an item with a small weight has more noise.
    """
    mu = math.sqrt(most) * math.hypot(1.0 / sigma_matrix, 1.0 / sigma_vector)
    if sigma_moment is not None:
        mu = math.hypot(mu, 1.0 / sigma_moment)
    weights = np.ones(pattern.n_items) if item_weights is None else item_weights
    rows, values = clip_rows(rows), clip_entries(values)
    share = _shares(pattern, weights, most, fill=fill)
    # Largest share there can be, on the item of the smallest weight: the grid must hold it.
    grid = float(weights.min()) / math.sqrt(most) if fill else 1.0
    root = np.sqrt(share * grid) * _MARGIN
    features = np.trunc(rows * (root * _ROW)[:, None]).astype(np.int16)
    targets = np.trunc(values * np.repeat(root * _ENTRY, np.diff(pattern.indptr))).astype(np.int16)
    matrix, vector = _ROW**2 * grid, _ROW * _ENTRY * grid
    blocks: list[Block] = [
        ItemMatrix("matrix", matrix * sigma_matrix * mu, pattern, weights, features),
        ItemVector("vector", vector * sigma_vector * mu, pattern, weights, features, targets),
    ]
    if sigma_moment is not None:
        whole = np.trunc(rows * (_ROW * _MARGIN)).astype(np.int16)
        blocks.append(UserMatrix("moment", _ROW**2 * sigma_moment * mu, whole))
    released = gate.release(name, blocks, mu=mu)
    moment = released.get("moment")
    return NormalEquations(
        released["matrix"] / matrix, released["vector"] / vector, None if moment is None else moment / _ROW**2
    )


def release_co_moment(gate: Gate, name: str, pattern: Pattern, values: Floats, *, mu: float) -> Floats:
    """Items x items: the noisy sum over users of ``y y^T``, each user's sparse row y clipped to norm 1."""
    rows = _clip_segments(pattern, values)
    block = CoMoment("rows", _ROW**2, pattern, np.trunc(rows * (_ROW * _MARGIN)).astype(np.int16))
    return gate.release(name, [block], mu=mu)["rows"] / _ROW**2


def release_products(
    gate: Gate, name: str, pattern: Pattern, values: Floats, direction: Floats, *, mu: float
) -> Floats:
    """Noisy sum over users of ``y (y . v)``, y clipped to norm 1 and v at most of it: one step of a power method."""
    length = float(np.sqrt((direction**2).sum()))
    if not length <= 1.0 + 1e-9:
        raise SettingsInvalid(f"{name}: the direction has length {length:g}, above 1")
    rows = _clip_segments(pattern, values)
    along = np.clip(pattern.user_sums(rows * direction[pattern.items]), -1.0, 1.0)
    block = ItemVector(
        "products",
        _ROW * _ENTRY,
        pattern,
        np.ones(pattern.n_items),
        np.trunc(along[:, None] * (_ROW * _MARGIN)).astype(np.int16),
        np.trunc(rows * (_ENTRY * _MARGIN)).astype(np.int16),
    )
    return gate.release(name, [block], mu=mu)["products"][:, 0] / (_ROW * _ENTRY)


def _at_most(pattern: Pattern, most: int) -> None:
    if pattern.n_users and pattern.counts.max() > most:
        raise SettingsInvalid(
            f"a user has more than {most} items in a release that is bounded by that number"
        )


def clip_entries(values: Floats) -> Floats:
    """Clipped to [-1, 1]; what is no number becomes 0."""
    return np.clip(np.nan_to_num(values, nan=0.0, posinf=1.0, neginf=-1.0), -1.0, 1.0)


def _clip_segments(pattern: Pattern, values: Floats) -> Floats:
    """Each user's row of values scaled to norm at most 1; what is no number becomes 0."""
    finite = np.where(np.abs(values) < 1e150, values, 0.0)
    norms = np.sqrt(pattern.user_sums(finite**2))
    scale = 1.0 / np.maximum(norms, 1.0)
    return finite * np.repeat(scale, np.diff(pattern.indptr))


def _shares(pattern: Pattern, weights: Floats, most: float, *, fill: bool) -> Floats:
    """Factor of all that a user hands in, so that its square times their squared weights is at most ``most``."""
    load = pattern.user_sums(weights[pattern.items] ** 2)
    share = np.sqrt(np.divide(most, load, out=np.zeros_like(load), where=load > 0))
    return share if fill else np.minimum(share, 1.0)
