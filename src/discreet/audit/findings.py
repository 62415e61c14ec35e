"""What an audit found: numbers beside the claims they test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["GameFinding", "ReleaseFinding", "ReplayFinding"]

# Float rounding in lengths; the gate draws noise for as much (discreet.privacy.gaussian.grid.SLACK).
_ROUNDING = 1e-9


@dataclass(frozen=True)
class ReleaseFinding:
    """One release: what it was charged (mu, or epsilon without delta), and the largest move of it in units of that."""

    name: str
    cost: float
    worst: float


@dataclass(frozen=True)
class ReplayFinding:
    """What a replay found.

    Parameters
    ----------
    releases
        In order.
    alone
        Whether nobody's contribution depended on who else was there.
    engines
        For each engine, whether it gave the same integers.
    neighbours
        How many pairs of neighbouring data sets were compared.
    """

    releases: tuple[ReleaseFinding, ...]
    alone: bool
    engines: Mapping[str, bool]
    neighbours: int

    @property
    def worst(self) -> float:
        """The largest move of any release, in units of its bound: at most 1 where the promise holds."""
        return max((release.worst for release in self.releases), default=0.0)

    @property
    def passed(self) -> bool:
        """Whether nothing moved by more than was paid for, and nobody but the neighbour moved it."""
        return self.worst <= 1.0 + _ROUNDING and self.alone and all(self.engines.values())

    def as_json(self) -> dict[str, Any]:
        """For ``--json``."""
        releases = [vars(release) for release in self.releases]
        return {
            "worst_ratio": self.worst,
            "neighbours": self.neighbours,
            "nobody_else_moved": self.alone,
            "engines": dict(self.engines),
            "releases": releases,
            "passed": self.passed,
        }


@dataclass(frozen=True)
class GameFinding:
    """What a game found.

    Parameters
    ----------
    claimed, delta
        The promise.
    runs
        In each world.
    reach
        Part of the bound that the canary uses, on average over runs.
    bounds
        Lower bounds on epsilon, by how they were found.
    risk
        Chance that any of them is above the truth.
    """

    claimed: float
    delta: float
    runs: int
    reach: float
    bounds: Mapping[str, float]
    risk: float

    @property
    def lower_bound(self) -> float:
        """The largest of the lower bounds on epsilon."""
        return max(self.bounds.values())

    @property
    def passed(self) -> bool:
        """Whether no lower bound is above the claim."""
        return self.lower_bound <= self.claimed

    def as_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "claimed": self.claimed,
            "delta": self.delta,
            "lower_bound": self.lower_bound,
            "bounds": dict(self.bounds),
            "runs": self.runs,
            "reach": self.reach,
            "risk": self.risk,
            "passed": self.passed,
        }
