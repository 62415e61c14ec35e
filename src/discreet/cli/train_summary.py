"""Summary of a trained model, for the commands that train."""

from __future__ import annotations

from typing import Any, Protocol

from rich.table import Table

from discreet.cli.holder import show_holder
from discreet.cli.output import printer
from discreet.model import Model
from discreet.model.item_weights import ItemWeights

__all__ = ["Fitted", "show", "summarise"]

_NOT_IN_THE_TABLE = (
    *("epsilon", "delta", "mu", "releases", "private", "accounting", "holder", "ledger"),
    *("this_run", "earlier_runs"),
)
# A table of weights has none, and always takes two sums.
_NOT_OF_TABLES = ("rank", "rounds")


class Fitted(Protocol):
    """What all methods have after training."""

    @property
    def model_(self) -> Model: ...
    @property
    def rounds_(self) -> int: ...


def summarise(fitted: Fitted) -> dict[str, Any]:
    """What may be told with the model: it follows from the model and its statement."""
    model, statement = fitted.model_, fitted.model_.statement
    carried = {
        "this_run": None if statement.this_run is None else statement.this_run.model_dump(mode="json"),
        "earlier_runs": [run.model_dump(mode="json") for run in statement.earlier_runs],
    }
    known = {} if statement.earlier is None else {"ledger": statement.earlier.model_dump(mode="json")}
    return {
        "method": model.method,
        "goal": model.goal,
        **_size(model),
        "rounds": fitted.rounds_,
        "epsilon": statement.epsilon,
        "delta": statement.delta,
        "mu": statement.mu,
        "releases": [{"name": release.name, "mu": release.mu} for release in statement.releases],
        "private": statement.private,
        **(carried if statement.earlier_runs else {}),
        **known,
    }


def show(title: str, result: dict[str, Any], model: Model, out: str) -> None:
    """Print the summary as a table, the model's statement, where the model is, and apart what is the holder's own."""
    table = Table(title=title, title_justify="left", show_header=False)
    for key, value in result.items():
        if key not in (*_NOT_IN_THE_TABLE, *(_NOT_OF_TABLES if "head" in result else ())):
            table.add_row(key.replace("_", " "), _text(value))
    console = printer()
    console.print(table)
    for note in model.notes:
        console.print(note, markup=False)
    console.print(str(model.statement), markup=False)
    console.print(f"Saved to {out}", markup=False)
    show_holder(result["holder"])


def _size(model: Model) -> dict[str, int]:
    """Factors an item, or how many items the table has weights for."""
    side = model.item_side
    weights = {"head": int(side.known.sum())} if isinstance(side, ItemWeights) else {}
    return {"rank": side.rank, **weights}


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(entry)}" for key, entry in value.items())
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
