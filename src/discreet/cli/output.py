"""What commands say: one JSON object on stdout, or text for people; progress on a terminal's stderr.

A command returns an `Answer`. What it tells the holder of the data and nobody else stands apart, in JSON under
``holder``: exact counts, time and memory. None of it is noised, so no statement covers it.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from discreet.cli.group import check_interrupt
from discreet.cli.request import Request, adds, option
from discreet.errors import SettingsInvalid

if TYPE_CHECKING:
    import polars as pl

    from discreet.engines.choice import AnyRatings
    from discreet.model import Model

__all__ = [
    "Answer",
    "NewModel",
    "Output",
    "Replaces",
    "ReportProgress",
    "check_file",
    "check_folder",
    "counts",
    "json_option",
    "peak_rss_mb",
    "print_json",
    "printer",
    "progress_bar",
    "promised",
    "say_dropped",
    "show_holder",
    "show_table",
    "spinner",
    "written",
]

ReportProgress = Callable[[str, int, int], None]


class Answer(NamedTuple):
    """What a command has to say: for programs, for people (words, or what prints them), and how it ends."""

    content: Mapping[str, Any]
    words: str | Callable[[], object]
    exit_code: int = 0


class Output(Request):
    """How a command answers."""

    as_json: bool = option("Print one JSON object on stdout, nothing else.", name="--json")

    def tell(self, answer: Answer | Mapping[str, Any]) -> None:
        """Print an answer; one without words of its own line by line."""
        if not isinstance(answer, Answer):
            answer = Answer(answer, "\n".join(f"{name}: {value}" for name, value in answer.items()))
        if self.as_json:
            print_json(answer.content)
        elif callable(answer.words):
            answer.words()
        else:
            click.echo(answer.words)
        if answer.exit_code:
            click.get_current_context().exit(answer.exit_code)


class Replaces(Request):
    """Whether what is there may be replaced."""

    force: bool = option("Replace what is already there.")


class NewModel(Replaces):
    """Where a model goes."""

    out: str = option("Directory to put the model into.", metavar="DIR")


json_option = adds(Output)


def print_json(content: Mapping[str, Any]) -> None:
    """Print the one JSON object of a command; a number that does not exist (NaN, infinity) is null."""
    click.echo(json.dumps(_finite(content), allow_nan=False, ensure_ascii=False))


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def printer() -> Console:
    """Console for people, on stdout; outside a terminal wide enough that tables are not folded.

    Text is shown as it is: ids and titles may hold what would otherwise be markup.
    """
    return Console(width=None if sys.stdout.isatty() else 120, highlight=False, markup=False, emoji=False)


def show_table(
    rows: Iterable[Sequence[object]],
    headings: Sequence[str] = (),
    title: str | None = None,
    right: Collection[str] = (),
) -> None:
    """Print rows under their headings (those of numbers: ``right``), or facts where there are none."""
    table = Table(title=title, title_justify="left", show_header=bool(headings))
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left")
    for row in rows:
        table.add_row(*map(str, row))
    printer().print(table)


@contextmanager
def progress_bar() -> Iterator[ReportProgress]:
    """Yield a function ``(stage, done, total)`` that moves a bar on stderr, or nothing without a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda stage, done, total: check_interrupt()
        return
    words = TextColumn("{task.description}", markup=False)
    columns = (words, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
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


def check_file(
    out: Path, *endings: str, name: str = "--out", model: Path | None = None, force: bool = True
) -> None:
    """Refuse a place that no file can be written to, before anything is computed; ``model``: a folder it is not in."""
    folder = out.absolute().parent
    if endings and out.suffix.lower() not in endings:
        raise SettingsInvalid(
            f"{name} writes {' or '.join(endings)}; give the file that extension, not {out.name!r}"
        )
    if not folder.is_dir():
        raise SettingsInvalid(f"there is no directory {folder} to write {out.name} to; create it first")
    if out.is_dir():
        raise SettingsInvalid(f"{out} is a directory; give the name of a file")
    if out.exists() and not force:
        raise SettingsInvalid(f"{out} exists; choose another name, or replace it with --force")
    if model is not None and folder.resolve() == model.resolve():
        raise SettingsInvalid(f"{out} lies in the model's own folder, which must hold the model alone")


def check_folder(out: str, names: Iterable[str], *, force: bool) -> Path:
    """The folder for files of these names; one that is there already is replaced only if that was asked for."""
    folder = Path(out)
    there = [name for name in names if (folder / name).exists()]
    if there and not force:
        raise SettingsInvalid(f"{folder / there[0]} exists; choose another folder, or --force to replace it")
    return folder


def written(out: str, tables: Mapping[str, pl.DataFrame]) -> Answer:
    """Which files were written, and how long they are."""
    lines = (
        f"{Path(out) / name}: {table.height:,} rows of {', '.join(table.columns)}"
        for name, table in tables.items()
    )
    files = {name: table.height for name, table in tables.items()}
    return Answer({"out": out, "files": files}, "\n".join(lines))


def promised(model: Model, rounds: int) -> dict[str, Any]:
    """What may be told with a model: it follows from the model and its statement."""
    statement, side = model.statement, model.item_side
    return {
        "method": model.method,
        "goal": model.goal,
        "rank": side.rank,
        "rounds": rounds,
        "epsilon": statement.epsilon,
        "delta": statement.delta,
        "mu": statement.mu,
        "releases": [
            {"name": one.name, **({"epsilon": one.epsilon} if one.epsilon > 0.0 else {"mu": one.mu})}
            for one in statement.releases
        ],
        "private": statement.private,
    }


def counts(ratings: AnyRatings, items: int | None = None) -> dict[str, Any]:
    """How many users, items and ratings took part, and how many rows did not, were mended, or went into others."""
    left_out = ratings.left_out
    told = {"users": ratings.n_users, "items": ratings.n_items if items is None else items}
    told |= {"ratings": ratings.n_ratings, "dropped": left_out.dropped, "merged": left_out.merged}
    return told | ({"clipped": left_out.clipped} if ratings.rules.out_of_range == "clip" else {})


def say_dropped(ratings: AnyRatings) -> None:
    """Say on stderr, in one sentence, that rows were left out."""
    from discreet.data.rules import dropped_words

    if ratings.left_out.dropped:
        click.echo(f"For you alone: {dropped_words(ratings.n_rows, ratings.left_out)}.", err=True)


def peak_rss_mb() -> float | None:
    """Most memory this process has held, in units of a million bytes; ``None`` where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6, 1)


def show_holder(told: Mapping[str, Any]) -> None:
    """Print what is the holder's own, under a line that says so."""
    console = printer()
    console.print("\nFor you alone: exact, covered by no promise, not to be published")
    for key, value in told.items():
        if value is not None:
            shown = value if isinstance(value, str) else f"{value:,}"
            console.print(f"  {key.replace('_', ' '):<12} {shown}")
