"""From integer contributions to exact totals: where every user is bounded, before anything is added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from discreet.errors import SettingsInvalid
from discreet.privacy.gaussian.blocks import Block, total_energies
from discreet.privacy.gaussian.grid import SLACK
from discreet.types import Floats

__all__ = ["EXACT", "Total", "add_totals", "bounded", "check_exact", "exact_totals"]

EXACT = 2.0**53
"""Integers below it are exact in double precision, in any order of summation."""


class Total(NamedTuple):
    """The exact sum of some users' contributions to one block.

    Parameters
    ----------
    name
        Of the block.
    value
        The sum, in grid steps.
    largest
        Bound on every entry of every partial sum.
    unit
        Noise scale of each entry at a cost of 1, from the very block whose users were bounded. A gate draws no other
        noise for it: bounded in one unit and noised in another, a release would cost more than is charged.
    """

    name: str
    value: Floats
    largest: float
    unit: Floats


def bounded(blocks: Sequence[Block]) -> Sequence[Block]:
    """The blocks without those users whose contributions to all of them together exceed the bound."""
    # `not <=` rather than `>`: a user whose energy is not a number is left out as well.
    excess = ~(total_energies(blocks) <= 1.0 + SLACK)
    if excess.any():
        return [block.without(excess) for block in blocks]
    return blocks


def exact_totals(blocks: Sequence[Block]) -> list[Total]:
    """Bound every user, and add up.

    Notes
    -----
    **Privacy**. Private until noise is added: only a gate may let totals out.
    """
    for block in blocks:
        check_exact(block.name, block.largest_entry())
    return [
        Total(block.name, block.total(), block.largest_entry(), block.sigmas(1.0))
        for block in bounded(blocks)
    ]


def add_totals(one: Sequence[Total], other: Sequence[Total]) -> list[Total]:
    """Totals of two disjoint sets of users together; exact, so that it does not matter how users were divided."""
    added = []
    for left, right in zip(one, other, strict=True):
        if left.name != right.name or left.value.shape != right.value.shape:
            raise SettingsInvalid(f"{left.name}: cannot add a total of another block or shape ({right.name})")
        if not np.array_equal(left.unit, right.unit):
            raise SettingsInvalid(
                f"{left.name}: cannot add totals whose users were bounded in different units"
            )
        largest = left.largest + right.largest
        check_exact(left.name, largest)
        added.append(Total(left.name, left.value + right.value, largest, left.unit))
    return added


def check_exact(name: str, largest: float) -> None:
    """Refuse sums that would not be exact."""
    if not largest * (1.0 + SLACK) < EXACT:
        raise SettingsInvalid(
            f"{name}: too many users for exact sums on this grid (partial sums could pass 2^53)"
        )
