"""What an experiment hands back: tables, a picture, and what of the paper's claims was seen."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MISSING = "–"
VERDICTS: Mapping[bool | None, str] = {True: "yes", False: "no", None: "not comparable"}


@dataclass(frozen=True)
class Column:
    """A column of a table: what it is called, its unit, and the digits after the point it is shown with."""

    name: str
    unit: str = ""
    digits: int | None = None

    @property
    def heading(self) -> str:
        """Name and unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    def cell(self, value: Any) -> str:
        """The value for a reader; a dash where there is none."""
        value = plain(value)
        if value is None:
            return _MISSING
        if isinstance(value, bool | str):
            return str(value).replace("|", "\\|")
        if isinstance(value, int):
            return f"{value:,}"
        return f"{value:.4g}" if self.digits is None else f"{value:,.{self.digits}f}"


def columns_of(heading: str) -> tuple[Column, ...]:
    """Columns in short: ``"epsilon [none: no noise] | RMSE .4"`` are one with a unit and one with four digits."""
    parts = (re.fullmatch(r"(.*?)(?: \[(.*)\])?(?: \.(\d))?", one) for one in heading.split(" | "))
    return tuple(Column(m[1], m[2] or "", int(m[3]) if m[3] else None) for m in parts if m)


@dataclass(frozen=True)
class Table:
    """Rows of named values."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    key: str = ""
    shown: int = 40

    def __post_init__(self) -> None:
        known = {column.name for column in self.columns}
        for row in self.rows:
            if not set(row) <= known:
                raise ValueError(f"{self.title}: no column is called {', '.join(sorted(set(row) - known))}")

    def to_markdown(self) -> str:
        """The first rows as a Markdown table."""
        lines = ["| " + " | ".join(column.heading for column in self.columns) + " |"]
        lines.append("|---" * len(self.columns) + "|")
        for row in self.rows[: self.shown]:
            lines.append("| " + " | ".join(c.cell(row.get(c.name)) for c in self.columns) + " |")
        if len(self.rows) > self.shown:
            lines += ["", f"The first {self.shown} of {len(self.rows)} rows; the record has all."]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Title, columns and rows with plain numbers."""
        columns = [asdict(column) for column in self.columns]
        rows = [{name: plain(value) for name, value in row.items()} for row in self.rows]
        return {"title": self.title, "key": self.key, "columns": columns, "rows": rows, "shown": self.shown}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Table:
        """The table that `to_dict` wrote down."""
        columns = [Column(**column) for column in content["columns"]]
        return cls(content["title"], columns, content["rows"], content["key"], content["shown"])


@dataclass(frozen=True)
class Finding:
    """A claim of the paper and what was seen here, computed from the numbers.

    ``agrees`` is None where the two cannot be compared, for instance a published number on other data.
    """

    claim: str
    observed: str
    agrees: bool | None

    def __post_init__(self) -> None:
        if self.agrees is not None:  # a comparison of NumPy numbers gives NumPy's own truth
            object.__setattr__(self, "agrees", bool(self.agrees))


@dataclass
class Result:
    """What came out of an experiment."""

    tables: Sequence[Table]
    findings: Sequence[Finding]
    figure: Figure | None = None
    data: list[str] = field(default_factory=list)
    notes: Sequence[str] = ()
    more: Mapping[str, Figure] = field(default_factory=dict)

    @property
    def figures(self) -> dict[str, Figure]:
        """All pictures by key; the first has none."""
        return {} if self.figure is None else {"": self.figure, **self.more}

    def __post_init__(self) -> None:
        keys = [table.key for table in self.tables]
        if keys[:1] != [""] or len(set(keys)) < len(keys):
            raise ValueError("the first table has no key, and every other one a key of its own")


def plain(value: Any) -> Any:
    """A value as JSON knows it: plain numbers, text, None for what is no number."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return None
    return value
