"""What a command tells the holder of the data and nobody else: exact counts, time and memory.

None of it is noised, so no statement covers it. It stands apart from what may be published, in JSON under ``holder``.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from discreet.cli.output import printer
from discreet.data.rules import dropped_words
from discreet.engines.choice import AnyRatings

__all__ = ["counts", "peak_rss_mb", "say_dropped", "show_holder"]

_TITLE = "For you alone: exact, covered by no promise, not to be published"


def counts(ratings: AnyRatings, items: int | None = None) -> dict[str, Any]:
    """How many users, items and ratings took part, and how many rows did not, were mended, or went into others."""
    left_out = ratings.left_out
    told = {"users": ratings.n_users, "items": ratings.n_items if items is None else items}
    told |= {"ratings": ratings.n_ratings, "dropped": left_out.dropped, "merged": left_out.merged}
    told |= {"weightless": left_out.weightless} if left_out.weightless else {}
    return told | ({"clipped": left_out.clipped} if ratings.rules.out_of_range == "clip" else {})


def say_dropped(ratings: AnyRatings) -> None:
    """Say on stderr, in one sentence, that rows were left out."""
    if ratings.left_out.dropped:
        words = dropped_words(ratings.n_rows, ratings.left_out)
        click.echo(f"For you alone: {words}.", err=True)


def peak_rss_mb() -> float | None:
    """Most memory this process has held, in units of a million bytes; ``None`` where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6, 1)


def show_holder(told: dict[str, Any]) -> None:
    """Print it under a line that says whose it is."""
    console = printer()
    console.print(f"\n{_TITLE}", markup=False)
    for key, value in told.items():
        if value is not None:
            shown = value if isinstance(value, str) else f"{value:,}"
            console.print(f"  {key.replace('_', ' '):<12} {shown}", markup=False)
