"""What the ``federate`` commands say while a run goes on and when it has ended."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from discreet.cli.output import printer
from discreet.errors import SettingsInvalid
from discreet.model import Model
from discreet.model.directory import replace_file
from discreet.privacy.promise import Release
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.server.prototypes import PrototypeCoordinator
from discreet.silos.shared.agreement import AnyAgreement, PrototypeAgreement
from discreet.silos.shared.store import StoreInUse, read_rows

__all__ = ["Teller", "position", "said_beside", "show_run", "summary"]

_SHOWN = (
    *("method", "goal", "rank", "rounds", "prototypes", "silos", "items"),
    *("messages_up", "messages_down", "bytes_up", "bytes_down", "model_bytes_down"),
)


class Teller:
    """Says where a party of a run is: in a file beside its store, which only the party can open, and on stderr."""

    def __init__(self, agreement: AnyAgreement, store: str, *, as_json: bool = False) -> None:
        self._head = {"digest": agreement.digest, "name": agreement.name}
        self._path, self._as_json, self._last = _beside(Path(store)), as_json, ""
        self._noted: dict[str, Any] | None = None

    def note(self, status: dict[str, Any]) -> None:
        """Replace what was said before in the file, if anything has changed."""
        if status == self._noted:
            return
        self._noted = dict(status)
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        kind = {"kind": "silo" if "silo" in status else "server"}
        content = json.dumps(kind | self._head | {"as_of": now} | status).encode()
        replace_file(self._path, lambda file: file.write(content), private=True)

    def say(self, words: str, **facts: Any) -> None:
        """One line, unless it was the last one."""
        if words != self._last:
            click.echo(json.dumps({"words": words, **facts}) if self._as_json else words, err=True)
        self._last = words


def said_beside(store: Path) -> dict[str, Any]:
    """What a party said last, and whether a process is working on its store now."""
    try:
        content = json.loads(_beside(store).read_text(encoding="utf-8"))
        assert {"kind", "digest", "name", "as_of"} <= set(content)
    except (OSError, ValueError, RecursionError, AssertionError, TypeError):
        raise SettingsInvalid(
            f"{store} is a store whose owner has not said yet where it is; look again later"
        ) from None
    try:
        read_rows(store, "SELECT 1 FROM owner")
    except StoreInUse:
        return {**content, "running": True}
    return {**content, "running": False}


def position(status: dict[str, Any]) -> str:
    """Where the run is, with the numbers of the JSON status and the names of the ledger."""
    of = f" of {status['rounds']}" if status["rounds"] else ""
    done = f"{status['round']}{of} rounds done"
    if status["state"] != "running":
        return f"{status['state']}, {done}"
    waiting = ", ".join(status["waiting_for"]) or "nobody"
    step = " to sign who is in the sum" if status.get("stage") == "roll call" else ""
    return (
        f"round {status['round']} (in the ledger: {status['question']}), {done}: waiting for {waiting}{step}"
    )


def summary(coordinator: Coordinator | PrototypeCoordinator, model: Model) -> dict[str, Any]:
    """What the server knows about a finished run whose model nobody has been sent yet; all of it is public."""
    status, statement = coordinator.status(), model.statement
    common = {
        "method": model.method,
        "goal": model.goal,
        "rank": model.item_side.rank,
        "rounds": status["rounds"],
        "silos": list(status["roster"]),
        "items": model.item_side.n_items,
        "epsilon": statement.epsilon,
        "delta": statement.delta,
        "mu": statement.mu,
        "epsilon_in_two": statement.silos.epsilon_in_two if statement.silos is not None else None,
        "releases": [_cost(release) for release in statement.releases],
        "private": statement.private,
        "bytes_up": status["bytes_up"],
        "bytes_down": status["bytes_down"],
        "model_bytes_down": 0,
        "traffic": coordinator.traffic(),
    }
    if isinstance(coordinator.agreement, PrototypeAgreement):
        prototypes = coordinator.agreement.settings.most_prototypes
        common |= {"prototypes": prototypes, "messages_up": status["messages_up"], "messages_down": 0}
    return common


def show_run(title: str, result: dict[str, Any], model: Model, out: str) -> None:
    """Print a finished run as a table, the model's statement, and where the model is."""
    table = Table(title=title, title_justify="left", show_header=False)
    for key in _SHOWN:
        if key in result:
            table.add_row(key.replace("_", " "), _text(result[key]))
    console = printer()
    console.print(table)
    console.print(str(model.statement))
    console.print(f"Saved to {out}")


def _beside(store: Path) -> Path:
    return store.with_name(f"{store.name}.status.json")


def _cost(release: Release) -> dict[str, Any]:
    if release.epsilon > 0.0:
        return {"name": release.name, "epsilon": release.epsilon}
    return {"name": release.name, "mu": release.mu}


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int | float) else str(value)
