"""One query of a private method: what is asked of every user, and what the answer costs. Public.

A query says everything a holder of ratings needs to know to answer it: it is a frozen dataclass of public numbers
and arrays, so it can be sent, stored, compared and recomputed by any party.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, Self, TypeVar

from discreet.model.item_weights import AnySide
from discreet.privacy.gaussian.blocks import Mechanism

__all__ = ["Query", "Trained"]

T = TypeVar("T")


class Trained(NamedTuple):
    """What a method's public half ends with: the item side, and how many rounds it took."""

    side: AnySide
    rounds: int


@dataclass(frozen=True, eq=False)
class Query(ABC, Generic[T]):
    """What is asked, and for how much.

    Parameters
    ----------
    name
        What the statement calls the release.
    mu
        Gaussian cost of the release.
    planned
        How many queries the whole run has, as far as is known now.
    """

    name: str
    mu: float
    planned: int | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def mechanism(self) -> Mechanism[T]:
        """How contributions are bounded, which noise they get, and how the release is read."""

    def so_far(self) -> Trained | None:
        """What the run has learnt if it ends before this query; ``None`` where that is nothing."""
        return None

    def at(self, mu: float) -> Self:
        """The same query at another cost."""
        return self if mu == self.mu else replace(self, mu=mu)


AnyQuery = Query[Any]
