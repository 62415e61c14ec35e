"""Another private clustering behind the same message: noisy Lloyd steps and Gaussian values, through the gate.

Proof note: ``proofs/prototypes.md``, last section.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.data.ratings import Ratings
from discreet.methods.prototypes.private.centres import nearest
from discreet.methods.prototypes.private.projection import HALF_SIDE, project
from discreet.methods.prototypes.private.recovery import Prototypes, from_sums
from discreet.methods.prototypes.private.rows import Bounds, Rows
from discreet.methods.prototypes.settings import PrototypeSettings
from discreet.methods.prototypes.too_few import TooFewUsers
from discreet.privacy.budget import Budget
from discreet.privacy.gaussian.blocks import Block, ItemVector, Pattern, UserVector
from discreet.privacy.gaussian.gate import Gate
from discreet.types import Floats, Ints

__all__ = ["Plan", "lloyd_prototypes"]


# Grid steps of a whole contribution to a step's sums, and of the one that says which cluster a user is in.
_UNIT = 1 << 20
_HOT = 64
_ONE = 1024
# In a step's sums a user's presence counts this much beside a row of length 1; in the values' release, presence has
# this share of a user's energy.
_PRESENCE = 0.5
_SIZE_ENERGY = 0.3
# A new centre starts this far from the one it is split from, in radii.
_SPLIT = 0.1
# The ledger adds squares up; this much is left for the last bit.
_LEAVE = 1.0 - 1e-9


@dataclass(frozen=True)
class Plan:
    """How mu is split: the count, each step, the values. Squares add up to the budget's."""

    count: float
    steps: tuple[float, ...]
    values: float

    @classmethod
    def of(cls, settings: PrototypeSettings, budget: Budget) -> Plan:
        """Partition and centres pay for the steps; support, values and sizes for the values."""
        parts = settings.shares
        steps = parts.partition + parts.centres
        values = parts.support + parts.values + parts.sizes
        whole = parts.count + steps + values
        growth = [settings.growth**number for number in range(settings.rounds)]
        square = (budget.mu * _LEAVE) ** 2 / whole
        return cls(
            count=math.sqrt(square * parts.count),
            steps=tuple(math.sqrt(square * steps * part / sum(growth)) for part in growth),
            values=math.sqrt(square * values),
        )


def lloyd_prototypes(
    gate: Gate,
    ratings: Ratings,
    settings: PrototypeSettings,
    budget: Budget,
    least: Callable[[float], int],
    progress: Callable[[str], None] | None = None,
) -> Prototypes:
    """The whole pipeline with Gaussian noise, every release through this gate."""
    bounds = Bounds.of(settings, ratings)
    plan = Plan.of(settings, budget)
    rows = Rows.of(ratings, bounds, settings.seed)
    _refuse_small(gate, rows.n_users, plan.count, least)
    points = project(rows, settings.n_dimensions(rows.n_items), bounds.radius, (settings.seed, 0))
    rng = np.random.default_rng((settings.seed, 0, 1))
    start = rng.standard_normal((settings.prototypes, points.shape[1])) / math.sqrt(points.shape[1])
    centres = _on_grid(start * _SPLIT)
    for number, mu in enumerate(plan.steps):
        if progress is not None:
            progress(f"step {number + 1} of {len(plan.steps)}")
        centres = _step(gate, points, centres, mu, rng)
    return _values(gate, rows, nearest(points, centres), settings, bounds, plan.values)


def _refuse_small(gate: Gate, n_users: int, mu: float, least: Callable[[float], int]) -> None:
    ones = UserVector("users", float(_UNIT), np.full((n_users, 1), _UNIT, dtype=np.int32))
    noisy = float(gate.release("silo count", [ones], mu=mu)["users"][0]) / _UNIT
    if not noisy >= least(mu):
        raise TooFewUsers(
            f"this silo has too few users: a noisy count of {noisy:.0f}, where {least(mu)} are needed at this "
            "epsilon; join with another silo, or raise epsilon"
        )


def _step(gate: Gate, points: Ints, centres: Ints, mu: float, rng: np.random.Generator) -> Ints:
    """Each centre to the noisy mean of its users; one whose users are lost in the noise is set beside another."""
    k, dimension = centres.shape
    clusters = nearest(points, centres)
    scale = _UNIT / math.sqrt(1.0 + _PRESENCE**2)
    given = np.zeros((len(points), k, dimension + 1), dtype=np.int32)
    users = np.arange(len(points))
    given[users, clusters, :dimension] = np.trunc(points * (scale / HALF_SIDE))
    given[users, clusters, dimension] = int(scale * _PRESENCE)
    block = UserVector("clusters", float(_UNIT), given.reshape(len(points), k * (dimension + 1)))
    noisy = gate.release("centre step", [block], mu=mu)["clusters"].reshape(k, dimension + 1) / scale
    counts = noisy[:, dimension] / _PRESENCE
    spread = _UNIT / (mu * scale * _PRESENCE)
    moved = noisy[:, :dimension] / np.maximum(counts, 1.0)[:, None]
    lost = ~(counts > spread)
    if lost.any():
        # Split the crowded: a centre is drawn in proportion to its noisy size.
        odds = np.where(lost, 0.0, np.maximum(counts, 0.0))
        odds = odds / odds.sum() if odds.sum() > 0.0 else np.full(k, 1.0 / k)
        parents = rng.choice(k, size=int(lost.sum()), p=odds)
        beside = rng.standard_normal((len(parents), dimension)) * (_SPLIT / math.sqrt(dimension))
        moved[lost] = np.where(lost[parents, None], 0.0, moved[parents]) + beside
    return _on_grid(moved)


def _values(
    gate: Gate, rows: Rows, clusters: Ints, settings: PrototypeSettings, bounds: Bounds, mu: float
) -> Prototypes:
    """Sums of each cluster and item and the sizes they belong to, in one release."""
    k = settings.prototypes
    hot = np.zeros((rows.n_users, k), dtype=np.int16)
    hot[np.arange(rows.n_users), clusters] = _HOT
    pattern = Pattern(rows.indptr, rows.items, rows.n_items)
    weights = np.ones(rows.n_items)
    row_unit = _HOT * bounds.norm / math.sqrt(1.0 - _SIZE_ENERGY)
    targets = rows.values.astype(np.int16)
    sums: Block = ItemVector("sums", row_unit, pattern, weights, hot, targets)
    if settings.unrated == "zero":
        present = hot.astype(np.int32) * _ONE
        unit = _HOT * _ONE / math.sqrt(_SIZE_ENERGY)
        sizes: Block = UserVector("sizes", unit, present)
    else:
        unit = _HOT * _ONE * math.sqrt(bounds.items / _SIZE_ENERGY)
        ones = np.full(len(rows.items), _ONE, dtype=np.int16)
        sizes = ItemVector("sizes", unit, pattern, weights, hot, ones)
    released = gate.release("values", [sums, sizes], mu=mu)
    counts = released["sizes"].reshape(-1, k).T / (_HOT * _ONE)
    support = np.tile(np.arange(rows.n_items), (k, 1))
    spread = None if settings.unrated == "zero" else unit / (mu * _HOT * _ONE)
    noise = (row_unit / (mu * _HOT)) ** 2 if settings.shrink else None
    sums_of = released["sums"].T / _HOT
    return from_sums(sums_of, counts, support, rows.n_items, bounds, spread=spread, noise=noise)


def _on_grid(points: Floats) -> Ints:
    """Within the ball of the projected rows, as integers."""
    length = np.sqrt((points**2).sum(axis=1, keepdims=True))
    inside = points / np.maximum(length, 1.0)
    placed: Ints = np.trunc(inside * (HALF_SIDE - 1)).astype(np.int64)
    return placed
