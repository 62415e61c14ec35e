"""``--engine``, ``--blocks``, ``--checkpoint`` and ``--resume``: where the ratings are, and where the run is kept."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from discreet.catalogue import Catalogue
from discreet.cli.output import ReportProgress
from discreet.cli.resumable import note_arguments, resumed
from discreet.data.blocks import StoredRatings, prepare
from discreet.data.checks import Columns
from discreet.data.ratings import Reading
from discreet.data.rules import RowRules
from discreet.engines.choice import fits_into_memory
from discreet.errors import DiscreetError, SettingsInvalid
from discreet.methods.checkpoint import Checkpoint

__all__ = [
    "chosen_engine",
    "clear_run",
    "engine_options",
    "leaves_nothing",
    "open_checkpoint",
    "prepare_ratings",
]

F = TypeVar("F", bound=Callable[..., Any])


def engine_options(function: F) -> F:
    """Add them."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def chosen_engine(options: dict[str, Any], *, private: bool) -> str:
    """``memory`` or ``disk``."""
    asked: str = options["engine"]
    able = private and options["catalogue"] is not None
    if asked == "disk" and not able:
        raise SettingsInvalid(
            "--engine disk is for private methods with a --catalogue; use --engine memory for others"
        )
    if asked == "auto":
        asked = "memory" if not able or fits_into_memory(options["source"]) else "disk"
    if asked == "memory" and options["blocks"]:
        raise SettingsInvalid("--blocks says where --engine disk puts its ratings; leave it out")
    return asked


def open_checkpoint(
    ctx: click.Context, options: dict[str, Any], out: str, engine: str, *, private: bool
) -> Checkpoint | None:
    """The run's folder, where it is kept: asked for, or because its ratings are on disk."""
    given = resumed(ctx) or options["checkpoint"]
    if given is not None and not private:
        raise SettingsInvalid("a method without a budget has no releases for a checkpoint; leave it out")
    if given is None and engine == "memory":
        return None
    kept = ctx.with_resource(Checkpoint(given or _beside(out)))
    note_arguments(ctx, kept.folder)
    return kept


def prepare_ratings(
    reading: Reading, options: dict[str, Any], kept: Checkpoint, report: ReportProgress
) -> StoredRatings:
    """The ratings on disk, grouped by user."""
    catalogue = reading.get("catalogue")
    if not isinstance(catalogue, Catalogue):
        catalogue = Catalogue.from_file(str(catalogue))
    return prepare(
        options["source"],
        options["blocks"] or kept.folder / "blocks",
        Columns(reading["user"], reading["item"], reading.get("rating")),
        rating_range=reading.get("rating_range"),
        catalogue=catalogue,
        rules=RowRules(reading["missing"], reading["out_of_range"], reading["unknown_items"]),
        progress=report,
    )


@contextmanager
def leaves_nothing(kept: Checkpoint | None) -> Iterator[None]:
    """A run that is refused before its first release leaves no folder behind."""
    try:
        yield
    except DiscreetError:
        if kept is not None and kept.untouched:
            clear_run(kept)
        raise


def clear_run(kept: Checkpoint) -> None:
    """Remove the folder of a run whose model is saved: under another name, so that no half of it is taken for a run."""
    kept.close()
    gone = kept.folder.with_name(f".{kept.folder.name}.removed-{secrets.token_hex(8)}")
    kept.folder.rename(gone)
    shutil.rmtree(gone)


def _beside(out: str) -> Path:
    place = Path(out).absolute()
    return place.with_name(f"{place.name}.run")


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--engine",
        type=click.Choice(["auto", "memory", "disk"]),
        default="auto",
        show_default=True,
        help="Where ratings are held; disk: grouped there first, then read a block at a time. Same model either way.",
    ),
    click.option(
        "--blocks",
        metavar="DIR",
        help="With --engine disk: keep the grouped ratings in DIR, for other runs too; else they go with the run.",
    ),
    click.option(
        "--checkpoint",
        metavar="DIR",
        help="Keep the run in DIR, release by release, until its model is saved; --engine disk does so in OUT.run.",
    ),
    click.option(
        "--resume",
        metavar="DIR",
        expose_value=False,
        help="Go on with the run that is kept in DIR. Stands alone: all other arguments are those it began with.",
    ),
)
