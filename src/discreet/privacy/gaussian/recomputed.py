"""Whether some users contribute the same integers in another grouping: what one user adds must not depend on others.

The bound of every user is checked in :mod:`discreet.privacy.gaussian.totals`. This is the other half of a sensitivity:
that nobody else's contribution moves when a user comes. A private half promises it; here it is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from discreet.privacy.gaussian.blocks import Block
from discreet.types import Ints

__all__ = ["same_contributions"]


def same_contributions(batch: Sequence[Block], users: Ints, alone: Sequence[Block]) -> bool:
    """Whether these users' part of a batch is what they hand in among themselves, to the last bit.

    Parameters
    ----------
    batch
        Blocks of everybody.
    users
        Their rows there.
    alone
        Blocks of these users alone, in this order.
    """
    pairs = zip(batch, alone, strict=False)
    return len(batch) == len(alone) and all(_same_block(whole, users, part) for whole, part in pairs)


def _same_block(whole: Any, users: Ints, part: Any) -> bool:
    if type(whole) is not type(part):
        return False
    if hasattr(whole, "chosen"):
        # On a device; what these users hand in there is looked at here.
        everybody, few = np.arange(len(users)), np.arange(part.n_users)
        inside = users.max(initial=-1) < whole.n_users
        return bool(inside) and _same_block(whole.chosen(users), everybody, part.chosen(few))
    rows = [users]
    names = [field.name for field in fields(whole)]
    if "pattern" in names:
        if users.max(initial=-1) >= whole.pattern.n_users:
            return False
        entries = _entries(whole.pattern.indptr, users)
        same = np.array_equal(np.diff(whole.pattern.indptr)[users], np.diff(part.pattern.indptr))
        if not (same and np.array_equal(whole.pattern.items[entries], part.pattern.items)):
            return False
        rows.append(entries)
    return all(_same(getattr(whole, name), getattr(part, name), rows) for name in names if name != "pattern")


def _same(whole: Any, part: Any, rows: Sequence[Ints]) -> bool:
    """The same public thing, or the chosen rows of what has one for each user, or one for each pair."""
    if not isinstance(part, np.ndarray):
        return bool(whole == part)
    nan = part.dtype.kind == "f"
    if whole.dtype != part.dtype:
        return False
    if np.array_equal(whole, part, equal_nan=nan):
        return True
    fitting = [chosen for chosen in rows if len(chosen) == len(part) and chosen.max(initial=-1) < len(whole)]
    return any(np.array_equal(whole[chosen], part, equal_nan=nan) for chosen in fitting)


def _entries(indptr: Ints, users: Ints) -> Ints:
    """Positions of the pairs of these users, user by user."""
    counts = np.diff(indptr)[users]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    within: Ints = np.arange(counts.sum()) + np.repeat(indptr[users] - starts, counts)
    return within
