"""Summary of a trained model, for the commands that train."""

from __future__ import annotations

import resource
import sys
from typing import Any, Protocol

from rich.table import Table

from discreet.cli.output import printer
from discreet.data.ratings import Ratings
from discreet.model import Model

__all__ = ["Fitted", "peak_rss_mb", "show", "summarise"]

_NOT_IN_THE_TABLE = ("epsilon", "delta", "mu", "releases", "private", "accounting", "ledger")


class Fitted(Protocol):
    """What all methods have after training."""

    @property
    def model_(self) -> Model: ...
    @property
    def rounds_(self) -> int: ...


def summarise(fitted: Fitted, ratings: Ratings, seconds: float) -> dict[str, Any]:
    """The data holder's own summary: the counts are exact, and for that reason not part of the model."""
    model, statement = fitted.model_, fitted.model_.statement
    known = {} if statement.earlier is None else {"ledger": statement.earlier.model_dump(mode="json")}
    return {
        "method": model.method,
        "goal": model.goal,
        "rank": model.item_side.rank,
        "rounds": fitted.rounds_,
        "users": ratings.n_users,
        "items": model.item_side.n_items,
        "ratings": ratings.n_ratings,
        "epsilon": statement.epsilon,
        "delta": statement.delta,
        "mu": statement.mu,
        "releases": [{"name": release.name, "mu": release.mu} for release in statement.releases],
        "private": statement.private,
        "seconds": round(seconds, 3),
        "peak_rss_mb": round(peak_rss_mb(), 1),
        **known,
    }


def peak_rss_mb() -> float:
    """Most memory this process has held, in units of a million bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def show(title: str, result: dict[str, Any], model: Model, out: str) -> None:
    """Print the summary as a table, the model's statement, and where the model is."""
    table = Table(title=title, title_justify="left", show_header=False)
    for key, value in result.items():
        if key not in _NOT_IN_THE_TABLE:
            table.add_row(key.replace("_", " "), _text(value))
    console = printer()
    console.print(table)
    console.print(str(model.statement), markup=False)
    console.print(f"Saved to {out}", markup=False)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(entry)}" for key, entry in value.items())
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
