"""The answer to a recommendation: the items in order, and how many are missing if too few were left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal, NamedTuple, TypeAlias, overload

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.types import Floats

__all__ = ["Mark", "Neighbours", "Recommendation", "Recommendations"]

Mark: TypeAlias = Literal["unknown", "guess"]
"""``"unknown"``: next to nothing was learnt about the item; ``"guess"``: it was added after training."""

# What to know about a list, in whole sentences.
FEW_STAND_OUT = "no more items stand out of the noise as taken together with it"
SAME_ORDER = "this model has no taste directions: everybody gets the same order, minus what they have seen"
NO_TASTE = "no taste stands out of the noise: everybody's list is popularity, minus what they have seen"
NOTHING_LEARNT = (
    "nothing was learnt: no item's popularity stands out of the noise, so there is no list to give"
)
BY_POPULARITY = (
    "items are in the order of popularity times predicted rating above the lowest, not of the ratings shown"
)
TRUSTED = (
    "{} of {} items are clearly more popular than the average one, by over two deviations of the noise; the order of "
    "the others is partly noise"
)


class Neighbours(NamedTuple):
    """Items like one item: positions, how alike, the standard deviation of that by the noise (NaN: not known)."""

    items: npt.NDArray[np.int32]
    likeness: Floats
    deviation: Floats
    notes: tuple[str, ...] = ()


class Recommendation(NamedTuple):
    """One item, its score (predicted rating, score or similarity) and its title where the catalogue has one.

    ``mark`` says that next to nothing is known about the item (``"unknown"``), or that it was added after training
    (``"guess"``). ``deviation`` is what the noise of the release gives a similarity, where that is known.
    """

    item: int | str
    score: float
    title: str | None = None
    mark: Mark | None = None
    deviation: float | None = None

    def __str__(self) -> str:
        mark = "" if self.mark is None else f"  ({self.mark})"
        noise = "" if self.deviation is None else f" ± {self.deviation:.2g}"
        return f"{self.item if self.title is None else self.title}  {self.score:.4g}{noise}{mark}"


@dataclass(frozen=True)
class Recommendations(Sequence[Recommendation]):
    """Items in descending order of score; never silently fewer than the ``n`` that was asked for.

    ``ignored`` ids of the history and the filters were unknown; ``notes`` are whole sentences about the list.
    """

    entries: tuple[Recommendation, ...]
    requested: int
    ignored: int = 0
    notes: tuple[str, ...] = ()

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
        lines = [f"{rank:>3}. {entry}" for rank, entry in enumerate(self.entries, 1)]
        if self.shortfall and FEW_STAND_OUT not in self.notes:
            lines.append(f"     ({self.shortfall} of {self.requested} missing: no more items are left)")
        lines.extend(f"     ({note})" for note in self.notes)
        return "\n".join(lines)

    def __repr__(self) -> str:
        first = [*map(str, self.items[:5]), *["..."] * (len(self) > 5)]
        return f"Recommendations({len(self)} of {self.requested}: {', '.join(first)})"

    def _repr_html_(self) -> str:
        """As a notebook shows it."""
        said = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return self.to_polars()._repr_html_() + said

    def to_polars(self) -> pl.DataFrame:
        """A polars frame, a row for each item: ``rank``, and the fields of a `Recommendation`."""
        columns: dict[str, Any] = {"rank": range(1, len(self.entries) + 1)}
        columns |= {name: [getattr(entry, name) for entry in self.entries] for name in Recommendation._fields}
        kinds = {"rank": pl.UInt32, "score": pl.Float64, "title": pl.String, "mark": pl.String}
        kinds["deviation"] = pl.Float64
        return pl.DataFrame(columns, schema_overrides=kinds)

    def to_pandas(self) -> Any:
        """A pandas frame of the same columns; needs the ``frames`` extra."""
        return self.to_polars().to_pandas()

    def to_arrow(self) -> Any:
        """An Arrow table of the same columns; needs the ``frames`` extra."""
        return self.to_polars().to_arrow()

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
