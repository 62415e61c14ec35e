"""Output of commands: one JSON object on stdout, or text for people; progress on a terminal's stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from discreet.cli.interrupts import check_interrupt
from discreet.cli.request import Option, Request

__all__ = ["Output", "ReportProgress", "json_option", "print_json", "printer", "progress_bar", "spinner"]

ReportProgress = Callable[[str, int, int], None]

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on stdout, nothing else."
)


class Output(Request):
    """How a command answers."""

    as_json: Annotated[bool, Option("Print one JSON object on stdout, nothing else.", name="--json")] = False


def print_json(content: dict[str, Any]) -> None:
    """Print the one JSON object of a command; a number that does not exist (NaN, infinity) is null."""
    click.echo(json.dumps(_finite(content), allow_nan=False, ensure_ascii=False))


def printer() -> Console:
    """Console for people, on stdout; outside a terminal wide enough that tables are not folded.

    Text is shown as it is: ids and titles may hold what would otherwise be markup.
    """
    return Console(width=None if sys.stdout.isatty() else 120, highlight=False, markup=False, emoji=False)


@contextmanager
def progress_bar() -> Iterator[ReportProgress]:
    """Yield a function ``(stage, done, total)`` that moves a bar on stderr, or nothing without a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda stage, done, total: check_interrupt()
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int) -> None:
            check_interrupt()
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, total=total)
            progress.update(tasks[stage], completed=done, total=total)

        yield report


@contextmanager
def spinner(stage: str) -> Iterator[None]:
    """Show on a terminal's stderr that something goes on, and nothing about how far it is."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(stage):
        yield


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content
