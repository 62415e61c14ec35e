"""How a round ended, for a silo that was away: which attempt, with whom, who was lost in it, and what was released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.types import Floats

__all__ = ["MOST_PASSED", "Passed"]

MOST_PASSED = 16
"""Rounds that a question reports on at most: a silo that was away for longer cannot come back."""


@dataclass(frozen=True)
class Passed:
    """A round that is over.

    Parameters
    ----------
    round, attempt, roster
        As it was asked last.
    lost
        Silos of the roster whose answers are not in the release.
    release
        What was released.
    """

    round: int
    attempt: int
    roster: tuple[str, ...]
    lost: tuple[str, ...]
    release: Mapping[str, Floats]
