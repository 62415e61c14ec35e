"""Recommendations as a table for people."""

from __future__ import annotations

from collections.abc import Iterable

import click
from rich.table import Table

from discreet.cli.output import printer
from discreet.model import Recommendation, Recommendations
from discreet.model.doubt import Mark
from discreet.model.recommendations import FEW_STAND_OUT

__all__ = ["MARKS", "explained", "say_notes", "sentence", "show_recommendations"]

MARKS: dict[Mark, str] = {
    "unknown": "next to nothing is known about this item",
    "guess": "added after training, so known by its features alone",
}
"""What a mark in a table or in JSON means."""


def show_recommendations(found: Recommendations, title: str, score_name: str) -> None:
    """Print ranks, items, titles and marks where there are any, scores, and what is missing."""
    table = Table(title=title, title_justify="left")
    columns = ("", "item", "title", score_name, "± by noise", "mark")
    rows = [_cells(rank, entry) for rank, entry in enumerate(found, 1)]
    # Of what no item has there is no column.
    shown = [
        place for place in range(len(columns)) if place not in (2, 4, 5) or any(row[place] for row in rows)
    ]
    for place in shown:
        table.add_column(columns[place], justify="right" if place in (0, 3, 4) else "left")
    for row in rows:
        table.add_row(*(row[place] for place in shown))
    console = printer()
    console.print(table)
    for line in (*explained(entry.mark for entry in found), *map(sentence, found.notes)):
        console.print(line)
    if found.shortfall and FEW_STAND_OUT not in found.notes:
        console.print(f"{found.shortfall} of {found.requested} are missing: no more items are left.")
    if found.ignored:
        console.print(f"{found.ignored} unknown ids were left out.")


def explained(marks: Iterable[str | None]) -> list[str]:
    """One line for each mark that occurs, and what it means."""
    present = set(marks)
    return [f"{mark}: {meaning}." for mark, meaning in MARKS.items() if mark in present]


def sentence(note: str) -> str:
    """A note as a sentence of its own."""
    return f"{note[0].upper()}{note[1:]}."


def say_notes(notes: Iterable[str]) -> None:
    """Print notes on stderr, where they are not in the way of JSON."""
    for note in notes:
        click.echo(sentence(note), err=True)


def _cells(rank: int, entry: Recommendation) -> tuple[str, ...]:
    noise = "" if entry.deviation is None else f"{entry.deviation:.3f}"
    return (str(rank), str(entry.item), entry.title or "", f"{entry.score:.3f}", noise, entry.mark or "")
