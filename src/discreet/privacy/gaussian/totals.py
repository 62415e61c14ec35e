"""From integer contributions to exact totals: where every user is bounded, before anything is added up.

Totals are 64-bit integers and add up modulo 2^64, noise included (``proofs/gate.md``): no number of users is too large
for the promise, and with up to 2^30 of them no sum of this package wraps around.

The other half of a sensitivity is that nobody else's contribution moves when a user comes. A private half promises it;
:func:`same_contributions` looks: some users must contribute the same integers in another grouping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from discreet import kernels
from discreet.errors import SettingsInvalid
from discreet.privacy.gaussian.blocks import SLACK, Adding, Block, total_energies
from discreet.types import Floats, Ints

__all__ = ["Total", "add_totals", "bounded", "exact_totals", "same_contributions"]


class Total(NamedTuple):
    """The exact sum of some users' contributions to one block.

    Parameters
    ----------
    name
        Of the block.
    value
        The sum, in grid steps.
    unit
        Noise scale of each entry at a cost of 1, from the very block whose users were bounded. A gate draws
        no other noise for it: bounded in one unit and noised in another, a release would cost more than is charged.
    """

    name: str
    value: Ints
    unit: Floats


def bounded(blocks: Sequence[Block]) -> Sequence[Block]:
    """The blocks without those users whose contributions to all of them together exceed the bound."""
    # `not <=` rather than `>`: a user whose energy is not a number is left out as well.
    excess = ~(total_energies(blocks) <= 1.0 + SLACK)
    if excess.any():
        return [block.without(excess) for block in blocks]
    return blocks


def exact_totals(blocks: Sequence[Block], onto: Sequence[Total] | None = None) -> list[Total]:
    """Bound every user, and add up.

    Notes
    -----
    **Privacy**. Private until noise is added: only a gate may let totals out.
    """
    kept = bounded(blocks)
    if onto is None:
        return [Total(block.name, _sum(block), block.sigmas(1.0)) for block in kept]
    for total, block in zip(onto, kept, strict=True):
        _check_alike(total, block.name, block.sigmas(1.0))
        if isinstance(block, Adding):
            block.add_to(total.value)
        else:
            added = _sum(block)
            _check_shape(total, added)
            np.add(total.value, added, out=total.value)
    return list(onto)


def add_totals(one: Sequence[Total], other: Sequence[Total]) -> list[Total]:
    """Totals of two disjoint sets of users together; exact, so that it does not matter how users were divided."""
    added = []
    for left, right in zip(one, other, strict=True):
        _check_shape(left, right.value)
        _check_alike(left, right.name, right.unit)
        added.append(Total(left.name, left.value + right.value, left.unit))
    return added


def _check_alike(total: Total, name: str, unit: Floats) -> None:
    if total.name != name:
        raise SettingsInvalid(f"{total.name}: cannot add a total of another block or shape ({name})")
    if not np.array_equal(total.unit, unit):
        raise SettingsInvalid(f"{total.name}: cannot add totals whose users were bounded in different units")


def _check_shape(total: Total, added: Ints) -> None:
    """Broadcast, one number would count for several."""
    if total.value.shape != added.shape:
        raise SettingsInvalid(f"{total.name}: cannot add a total of another block or shape ({added.shape})")


def _sum(block: Block) -> Ints:
    first, *others = block.parts()
    total = _whole(first)
    for part in others:
        total += _whole(part)
    return total


def _whole(block: Block) -> Ints:
    exact = block.total()
    if exact.dtype == np.int64:
        return exact.astype(np.int64, copy=False)
    whole = np.empty(exact.shape, np.int64)

    def some(rows: slice) -> None:
        whole[rows] = exact[rows]

    kernels.by_rows(some, len(exact))
    return whole


def same_contributions(batch: Sequence[Block], users: Ints, alone: Sequence[Block]) -> bool:
    """Whether these users' part of a batch is what they hand in among themselves, to the last bit.

    ``users`` are their rows in the batch; ``alone`` has the blocks of these users alone, in this order.
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
