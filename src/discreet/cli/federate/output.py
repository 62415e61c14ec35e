"""What the ``federate`` commands say while a run goes on and when it has ended."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from discreet.cli.output import printer, show_holder
from discreet.model import Model

__all__ = ["RoundProgress", "answered", "position", "show_run"]

_SHOWN = [
    "method",
    "goal",
    "rank",
    "rounds",
    "prototypes",
    "silos",
    "items",
    "messages_up",
    "messages_down",
    "bytes_up",
    "bytes_down",
    "model_bytes_down",
]


class RoundProgress:
    """Rounds on stderr: a bar on a terminal, a line for each change elsewhere, so that a log shows them too."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._bar = None
        if console.is_terminal:
            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
            )
            self._bar = Progress(*columns, console=console, transient=True)
        self._task: TaskID | None = None
        self._last = ""

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, words: str) -> None:
        """One line."""
        if self._bar is None:
            click.echo(words, err=True)
        else:
            self._bar.console.print(words, markup=False)

    def say_once(self, words: str) -> None:
        """One line, unless it was the last one."""
        if words != self._last:
            self.say(words)
        self._last = words

    def report(self, status: dict[str, Any]) -> None:
        """Where the run is, from the server's status."""
        done, rounds = status["round"], status["rounds"]
        words = position(status)
        if self._bar is None:
            self.say_once(words)
            return
        if self._task is None:
            self._task = self._bar.add_task(words, total=rounds)
        self._bar.update(self._task, description=words, completed=done, total=rounds)


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


def answered(status: dict[str, Any]) -> str:
    """What to say after an answer has arrived, from the silo's status."""
    spent = f"epsilon {status['epsilon_spent']:.4g} spent"
    if "rounds" not in status:
        return f"the one message is sent ({status['bytes']:,} bytes); {spent}"
    if status["round"] is None:
        return f"the roll call is signed, nothing is answered yet; {spent}"
    return f"round {status['round']} (in the ledger: {status['question']}) answered; {spent}"


def show_run(title: str, result: dict[str, Any], model: Model, out: str) -> None:
    """Print a finished run as a table, the model's statement, and where the model is."""
    table = Table(title=title, title_justify="left", show_header=False)
    for key in _SHOWN:
        if key in result:
            table.add_row(key.replace("_", " "), _text(result[key]))
    console = printer()
    console.print(table)
    console.print(str(model.statement), markup=False)
    console.print(f"Saved to {out}", markup=False)
    if "holder" in result:
        show_holder(result["holder"])


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int | float) else str(value)
