"""A small table of methods and numbers: mean over draws, with the spread, for a terminal or a document."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from rich.table import Table

__all__ = ["Comparison"]

_MISSING = "–"


class Comparison:
    """Rows are methods, columns are numbers, and each cell holds one value for each draw.

    Parameters
    ----------
    columns
        Name of each column and how many digits after the point it is shown with.
    title
        Heading of the table.

    Examples
    --------
    >>> table = Comparison({"RMSE": 3})
    >>> for value in (0.98, 1.02): table.add("private", RMSE=value)
    >>> print(table.to_markdown())
    | method | RMSE |
    |---|---|
    | private | 1.000 ± 0.028 |
    """

    def __init__(self, columns: Mapping[str, int], title: str | None = None) -> None:
        self.columns = dict(columns)
        self.title = title
        self._draws: dict[str, dict[str, list[float]]] = {}

    def add(self, method: str, /, **values: float | None) -> None:
        """Add one draw of a method; columns that do not apply to it are left out or ``None``."""
        unknown = set(values) - set(self.columns)
        if unknown:
            raise ValueError(f"no column is called {', '.join(sorted(unknown))}")
        row = self._draws.setdefault(method, {column: [] for column in self.columns})
        for column, value in values.items():
            if value is not None:
                row[column].append(float(value))

    @property
    def methods(self) -> list[str]:
        """Row names in the order they were first added."""
        return list(self._draws)

    def mean(self, method: str, column: str) -> float:
        """Mean over the draws; NaN without any."""
        draws = self._draws[method][column]
        return statistics.fmean(draws) if draws else math.nan

    def spread(self, method: str, column: str) -> float:
        """Sample standard deviation over the draws; NaN below two."""
        draws = self._draws[method][column]
        return statistics.stdev(draws) if len(draws) > 1 else math.nan

    def cell(self, method: str, column: str) -> str:
        """``mean ± spread``, the mean alone for one draw, or a dash."""
        mean, spread, digits = self.mean(method, column), self.spread(method, column), self.columns[column]
        if math.isnan(mean):
            return _MISSING
        return f"{mean:.{digits}f}" + ("" if math.isnan(spread) else f" ± {spread:.{digits}f}")

    def to_rich(self) -> Table:
        """The table for a terminal."""
        table = Table(title=self.title, title_justify="left")
        table.add_column("method")
        for column in self.columns:
            table.add_column(column, justify="right")
        for method in self.methods:
            table.add_row(method, *self._cells(method))
        return table

    def to_markdown(self) -> str:
        """The table for a document."""
        rows = [["method", *self.columns], *([method, *self._cells(method)] for method in self.methods)]
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        lines.insert(1, "|---" * len(rows[0]) + "|")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, dict[str, dict[str, float | int | None]]]:
        """``{method: {column: {mean, spread, draws}}}`` with plain numbers."""
        return {
            method: {
                column: {
                    "mean": _plain(self.mean(method, column)),
                    "spread": _plain(self.spread(method, column)),
                    "draws": len(self._draws[method][column]),
                }
                for column in self.columns
            }
            for method in self.methods
        }

    def _cells(self, method: str) -> Sequence[str]:
        return [self.cell(method, column) for column in self.columns]


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value
