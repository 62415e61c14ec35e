"""``--engine``, ``--blocks``, ``--checkpoint``, ``--resume``: where ratings are, who adds up, where the run is kept."""

from __future__ import annotations

import gc
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import click
from pydantic import Field

from discreet.catalogue import Catalogue
from discreet.catalogue.packed import STANDARD_INPUT
from discreet.cli.output import ReportProgress
from discreet.cli.request import Option, Request
from discreet.cli.resumable import note_arguments, resumed
from discreet.data import StoredRatings, prepare
from discreet.data.preparation import fits_into_memory
from discreet.data.ratings import FileReading
from discreet.data.readers import TextFormat
from discreet.data.rows import Columns
from discreet.data.rules import RowRules
from discreet.errors import DiscreetError, SettingsInvalid
from discreet.methods.checkpoint import Checkpoint

if TYPE_CHECKING:
    from discreet.cli.training import Training
    from discreet.engines.cluster import Cluster

__all__ = [
    "Engine",
    "chosen_engine",
    "clear_run",
    "join_cluster",
    "leaves_nothing",
    "open_checkpoint",
    "prepare_ratings",
]


class Engine(Request):
    """Where ratings are, who adds up, and where the run is kept."""

    engine: Annotated[
        Literal["auto", "memory", "disk", "ray"],
        Option(
            "Where ratings are held; disk: grouped there first, then read a block at a time; ray: those blocks, on a "
            "cluster (extra ray). Same model either way."
        ),
    ] = "auto"
    address: Annotated[
        str | None,
        Option(
            "With --engine ray: the head of a cluster that this machine is a node of; else one is started here.",
            metavar="HOST:PORT",
        ),
    ] = None
    workers: Annotated[
        int | None,
        Field(ge=1),
        Option("With --engine ray: processes; else one for each processor of the cluster.", metavar="N"),
    ] = None
    blocks: Annotated[
        str | None,
        Option(
            "With --engine disk or ray: keep the grouped ratings in DIR, for other runs too; else they go with the "
            "run. All nodes of a cluster must see DIR under the same path.",
            metavar="DIR",
        ),
    ] = None
    checkpoint: Annotated[
        str | None,
        Option(
            "Keep the run in DIR, release by release, until its model is saved; --engine disk and ray do so in "
            "OUT.run.",
            metavar="DIR",
        ),
    ] = None
    resume: Annotated[
        str | None,
        Option(
            "Go on with the run that is kept in DIR. Stands alone: all other arguments are those it began with.",
            metavar="DIR",
        ),
    ] = None


def chosen_engine(request: Training, *, private: bool) -> str:
    """``memory``, ``disk`` or ``ray``."""
    asked: str = request.engine
    why = _needs_memory(request, private=private)
    if asked in ("disk", "ray") and why is not None:
        raise SettingsInvalid(f"--engine {asked} goes from one block of users to the next, and {why}")
    for key, value in (("address", request.address), ("workers", request.workers)):
        if asked != "ray" and value is not None:
            raise SettingsInvalid(f"--{key} belongs to --engine ray; leave it out")
    if request.source == STANDARD_INPUT:
        _refuse_standard_input(request, asked)
        return "memory"
    if asked == "auto":
        asked = "memory" if fits_into_memory(request.source) else "disk"
        if asked == "disk" and why is not None:
            raise SettingsInvalid(
                f"{request.source} may take more than half of this machine's memory, and {why}. "
                "--engine memory tries it nevertheless"
            )
    if asked == "memory" and request.blocks:
        raise SettingsInvalid("--blocks says where --engine disk and ray put their ratings; leave it out")
    return asked


def join_cluster(request: Training, engine: str) -> Cluster | None:
    """Connect to the cluster, where there is one: before anything is reserved or read."""
    if engine != "ray":
        return None
    from discreet.engines.cluster import Cluster

    cluster = Cluster(request.address, request.workers)
    click.get_current_context().with_resource(cluster.connect())
    return cluster


def _needs_memory(request: Training, *, private: bool) -> str | None:
    """Why a run needs all ratings at once, and what to do; ``None`` where its answers are sums over users."""
    if not private:
        return (
            f"--method {request.method} without a budget works on all ratings at once: use --engine memory, with "
            "the ratings of fewer users where they do not fit, or a private method"
        )
    if request.catalogue is None:
        return "--discover-items looks at all ratings at once: give --catalogue FILE, or use --engine memory"
    return None


def open_checkpoint(request: Training, engine: str, *, private: bool) -> Checkpoint | None:
    """The run's folder, where it is kept: asked for, or because its ratings are on disk."""
    ctx = click.get_current_context()
    given = resumed(ctx) or request.checkpoint
    if given is not None and not private:
        raise SettingsInvalid("a method without a budget has no releases for a checkpoint; leave it out")
    if given is None and engine == "memory":
        return None
    kept = ctx.with_resource(Checkpoint(given or _beside(request.out)))
    note_arguments(ctx, kept.folder)
    return kept


def prepare_ratings(
    reading: FileReading, request: Training, kept: Checkpoint, report: ReportProgress
) -> StoredRatings:
    """The ratings on disk, grouped by user."""
    catalogue = reading.get("catalogue")
    assert isinstance(catalogue, Catalogue)
    weight = reading.get("weight")
    return prepare(
        request.source,
        request.blocks or kept.folder / "blocks",
        Columns(reading["user"], reading["item"], reading.get("rating"), weight, reading.get("time")),
        rating_range=reading.get("rating_range"),
        catalogue=catalogue,
        rules=RowRules.of(
            reading["missing"],
            reading["out_of_range"],
            reading["unknown_items"],
            reading["duplicates"],
            reading["graded"],
            reading["allow_dropped"],
            weighted=weight is not None,
        ),
        text=TextFormat(reading["separator"], reading["encoding"]),
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
    gc.collect()  # maps of blocks that nobody reads any more: Windows does not rename or remove what is mapped
    gone = kept.folder.with_name(f".{kept.folder.name}.removed-{secrets.token_hex(8)}")
    kept.folder.rename(gone)
    shutil.rmtree(gone)


def _refuse_standard_input(request: Training, asked: str) -> None:
    for given, option in ((asked == "disk", "--engine disk"), (request.checkpoint, "--checkpoint")):
        if given:
            raise SettingsInvalid(
                f"{option} may read RATINGS a second time, and standard input is gone by then: write it to a file"
            )


def _beside(out: str) -> Path:
    place = Path(out).absolute()
    return place.with_name(f"{place.name}.run")
