"""Recommendations as a table for people."""

from __future__ import annotations

from rich.table import Table

from discreet.cli.output import printer
from discreet.model import Recommendations

__all__ = ["show_recommendations"]


def show_recommendations(found: Recommendations, title: str, score_name: str) -> None:
    """Print ranks, items, titles where there are any, scores, and what is missing."""
    with_titles = any(entry.title is not None for entry in found)
    table = Table(title=title, title_justify="left")
    for column in ("", "item", *(["title"] if with_titles else []), score_name):
        table.add_column(column, justify="right" if column in ("", score_name) else "left")
    for rank, entry in enumerate(found, 1):
        titles = [entry.title or ""] if with_titles else []
        table.add_row(str(rank), str(entry.item), *titles, f"{entry.score:.3f}")
    console = printer()
    console.print(table)
    if found.shortfall:
        console.print(f"{found.shortfall} of {found.requested} are missing: no more items are left.")
    if found.ignored:
        console.print(f"{found.ignored} unknown ids were left out.")
