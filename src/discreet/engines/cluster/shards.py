"""Totals cut by blocks of items, so that nobody who adds them up holds all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from discreet.methods.query import Query
from discreet.privacy.gaussian.totals import Total, add_totals
from discreet.types import Floats

__all__ = ["SHARD_BYTES", "Shard", "add_shards", "count_shards", "join_shards", "split_totals"]

SHARD_BYTES = 2**24
"""How much of the totals one process adds up at a time, for each summand."""

Shard = list[Total]
"""Some rows of every total of a release: those of a block of items."""


def count_shards(query: Query[Any], most: int = SHARD_BYTES) -> int:
    """Into how many shards the totals of a query are cut. From its form alone: public."""
    needed = sum(form.total().nbytes for form in query.mechanism.empty())
    return max(1, math.ceil(needed / most))


def split_totals(totals: Sequence[Total], count: int) -> list[Shard]:
    """The same totals as ``count`` shards; the last ones may be empty."""
    return [[_rows(total, place, count) for total in totals] for place in range(count)]


def join_shards(shards: Sequence[Shard]) -> list[Total]:
    """What :func:`split_totals` cut."""
    return [_joined(parts) for parts in zip(*shards, strict=True)]


def add_shards(*shards: Shard) -> Shard:
    """The same rows for disjoint sets of users, together; exact."""
    return reduce(add_totals, shards)


def _rows(total: Total, place: int, count: int) -> Total:
    rows = len(total.value)
    cut = slice(rows * place // count, rows * (place + 1) // count)
    return Total(total.name, total.value[cut], total.unit[cut] if _by_row(total) else total.unit)


def _joined(parts: Sequence[Total]) -> Total:
    first = parts[0]
    value = np.concatenate([part.value for part in parts])
    by_row = any(_by_row(part) for part in parts)
    unit: Floats = np.concatenate([part.unit for part in parts]) if by_row else np.array(first.unit)
    return Total(first.name, value, unit)


def _by_row(total: Total) -> bool:
    """Whether each row has a unit of its own; else one is for all of them."""
    return total.unit.ndim == total.value.ndim and len(total.unit) == len(total.value)
