"""Recommendations as a table for people."""

from __future__ import annotations

from collections.abc import Iterable

import click

from discreet.cli.output import printer, show_table
from discreet.model import Recommendations
from discreet.model.recommendations import FEW_STAND_OUT

__all__ = ["explained", "say_notes", "sentence", "show_recommendations"]

_MARKS = {
    "unknown": "next to nothing is known about this item",
    "guess": "added after training, so known by its features alone",
}


def show_recommendations(found: Recommendations, title: str, score_name: str) -> None:
    """Print ranks, items, titles and marks where there are any, scores, and what is missing."""
    headings = ("", "item", "title", score_name, "± by noise", "mark")
    rows = [
        (
            *(str(rank), str(one.item), one.title or "", f"{one.score:.3f}"),
            *("" if one.deviation is None else f"{one.deviation:.3f}", one.mark or ""),
        )
        for rank, one in enumerate(found, 1)
    ]
    # Of what no item has there is no column.
    kept = [place for place in range(6) if place not in (2, 4, 5) or any(row[place] for row in rows)]
    shown = [[row[place] for place in kept] for row in rows]
    show_table(shown, [headings[place] for place in kept], title, right=("", score_name, "± by noise"))
    console = printer()
    for line in (*explained(entry.mark for entry in found), *map(sentence, found.notes)):
        console.print(line)
    if found.shortfall and FEW_STAND_OUT not in found.notes:
        console.print(f"{found.shortfall} of {found.requested} are missing: no more items are left.")
    if found.ignored:
        console.print(f"{found.ignored} unknown ids were left out.")


def explained(marks: Iterable[str | None]) -> list[str]:
    """One line for each mark that occurs, and what it means."""
    present = set(marks)
    return [f"{mark}: {meaning}." for mark, meaning in _MARKS.items() if mark in present]


def sentence(note: str) -> str:
    """A note as a sentence of its own."""
    return f"{note[0].upper()}{note[1:]}."


def say_notes(notes: Iterable[str]) -> None:
    """Print notes on stderr, where they are not in the way of JSON."""
    for note in notes:
        click.echo(sentence(note), err=True)
