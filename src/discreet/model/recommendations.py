"""The answer to a recommendation: the items in order, and how many are missing if too few were left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

__all__ = ["Recommendation", "Recommendations"]


class Recommendation(NamedTuple):
    """One item, its score (predicted rating, score or cosine) and its title where the catalogue has one."""

    item: int | str
    score: float
    title: str | None = None


@dataclass(frozen=True)
class Recommendations(Sequence[Recommendation]):
    """Items in descending order of score; never silently fewer than asked for.

    Parameters
    ----------
    entries
        At most ``requested`` of them.
    requested
        The ``n`` that was asked for.
    ignored
        How many ids of the history and the filters were unknown and left out.
    """

    entries: tuple[Recommendation, ...]
    requested: int
    ignored: int = 0

    @property
    def shortfall(self) -> int:
        """How many of the requested items could not be given, because seen items and filters left too few."""
        return self.requested - len(self.entries)

    @property
    def items(self) -> list[int | str]:
        """The item ids alone."""
        return [entry.item for entry in self.entries]

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Recommendation]:
        return iter(self.entries)

    @overload
    def __getitem__(self, position: int) -> Recommendation: ...

    @overload
    def __getitem__(self, position: slice) -> tuple[Recommendation, ...]: ...

    def __getitem__(self, position: int | slice) -> Recommendation | tuple[Recommendation, ...]:
        return self.entries[position]

    def __str__(self) -> str:
        lines = [
            f"{rank:>3}. {entry.item if entry.title is None else entry.title}  {entry.score:.4g}"
            for rank, entry in enumerate(self.entries, 1)
        ]
        if self.shortfall:
            lines.append(f"     ({self.shortfall} of {self.requested} missing: no more items are left)")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, as the command line prints them."""
        return {
            "recommendations": [
                {key: value for key, value in entry._asdict().items() if value is not None}
                for entry in self.entries
            ],
            "requested": self.requested,
            "shortfall": self.shortfall,
            "ignored": self.ignored,
        }
