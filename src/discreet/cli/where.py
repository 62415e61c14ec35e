"""Options that say where a command runs: where ratings are held, who adds up, and where a run is kept.

A run that is kept goes on with ``--resume DIR``: the command that was stopped, once more, with its arguments.
"""

from __future__ import annotations

import gc
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from pydantic import BaseModel, ConfigDict, ValidationError

from discreet.catalogue import Catalogue
from discreet.catalogue.columns import Columns, TextFormat
from discreet.catalogue.tables import STANDARD_INPUT
from discreet.cli.request import Request, option
from discreet.data import StoredRatings, prepare
from discreet.data.preparation import fits_into_memory
from discreet.data.ratings import Ratings
from discreet.data.rules import RowRules
from discreet.data.stored import is_prepared
from discreet.engines.choice import AnyRatings
from discreet.errors import DiscreetError, RatingsInvalid, SettingsInvalid
from discreet.model import Model
from discreet.model.directory import replace_file

if TYPE_CHECKING:
    from discreet.cli.train import Training
    from discreet.engines.cluster import Cluster
    from discreet.methods.checkpoint import Checkpoint

__all__ = [
    "Engine",
    "Place",
    "Reader",
    "ResumableCommand",
    "chosen_engine",
    "clear_run",
    "join_cluster",
    "leaves_nothing",
    "on_disk",
    "open_checkpoint",
    "resumed",
]

_FILE = "command.json"
_ARGUMENTS, _RESUMED = "discreet.arguments", "discreet.resumed"


class Engine(Request):
    """Where the ratings of a training run are, who adds up, and where the run is kept."""

    engine: Literal["auto", "memory", "disk", "ray"] = option(
        "Where ratings are held; disk: grouped there, read in blocks; ray: on a cluster. Same model either way.",
        "auto",
    )
    address: str | None = option(
        "With --engine ray: the head of a cluster that this machine is a node of; else one is started here.",
        metavar="HOST:PORT",
    )
    workers: int | None = option(
        "With --engine ray: processes; else one for each processor of the cluster.", ge=1
    )
    blocks: str | None = option(
        "With --engine disk or ray: keep the grouped ratings in DIR, for other runs too. All nodes must see it.",
        metavar="DIR",
    )
    checkpoint: str | None = option(
        "Keep the run in DIR, release by release, until its model is saved; --engine disk and ray do so in OUT.run.",
        metavar="DIR",
    )
    resume: str | None = option(
        "Go on with the run that is kept in DIR. Stands alone: all other arguments are those it began with.",
        metavar="DIR",
    )


def chosen_engine(request: Training, *, private: bool) -> str:
    """``memory``, ``disk`` or ``ray``."""
    asked, source, why = request.engine, request.source, None
    if not private:
        why = (
            f"--method {request.method} without a budget works on all ratings at once: use --engine memory, with "
            "the ratings of fewer users where they do not fit, or a private method"
        )
    elif request.catalogue is None:
        why = "--discover-items looks at all ratings at once: give --catalogue FILE, or use --engine memory"
    if asked in ("disk", "ray") and why is not None:
        raise SettingsInvalid(f"--engine {asked} goes from one block of users to the next, and {why}")
    for key in ("address", "workers"):
        if asked != "ray" and getattr(request, key) is not None:
            raise SettingsInvalid(f"--{key} belongs to --engine ray; leave it out")
    if source == STANDARD_INPUT:
        if asked in ("disk", "ray") or request.checkpoint:
            typed = "--checkpoint" if request.checkpoint else f"--engine {asked}"
            raise SettingsInvalid(
                f"{typed} may read RATINGS a second time, and standard input is gone by then: write it to a file"
            )
        return "memory"
    if asked == "auto":
        asked = "memory" if fits_into_memory(source) else "disk"
        if asked == "disk" and why is not None:
            raise SettingsInvalid(
                f"{source} may take more than half of this machine's memory, and {why}. "
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


def open_checkpoint(request: Training, engine: str, *, private: bool) -> Checkpoint | None:
    """The run's folder, where it is kept: asked for, or because its ratings are on disk."""
    ctx = click.get_current_context()
    given = resumed(ctx) or request.checkpoint
    if given is not None and not private:
        raise SettingsInvalid("a method without a budget has no releases for a checkpoint; leave it out")
    if given is None and engine == "memory":
        return None
    from discreet.methods.checkpoint import Checkpoint

    out = Path(request.out).absolute()
    kept = ctx.with_resource(Checkpoint(given or out.with_name(f"{out.name}.run")))
    _note_arguments(ctx, kept.folder)
    return kept


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


def on_disk(source: str, folder: Path, reading: Any, **more: Any) -> StoredRatings:
    """The ratings of a table, grouped by user in a folder; ``reading`` as for `Ratings.from_file`."""
    catalogue = reading["catalogue"]
    assert isinstance(catalogue, Catalogue)
    rules = ("missing", "out_of_range", "unknown_items", "duplicates", "allow_dropped")
    return prepare(
        source,
        folder,
        Columns(reading["user"], reading["item"], *map(reading.get, ("rating", "time"))),
        rating_range=reading.get("rating_range"),
        catalogue=catalogue,
        rules=RowRules(**{rule: reading[rule] for rule in rules if rule in reading}),
        text=TextFormat(*map(reading.get, ("separator", "encoding"))),
        **more,
    )


class Reader(Request):
    """Where a command that only reads holds ratings."""

    engine: Literal["auto", "memory", "disk"] = option(
        "Where ratings are held; disk: grouped there first, then read a block at a time. Same result either way.",
        "auto",
    )
    blocks: str | None = option(
        "With --engine disk: keep the grouped ratings in DIR, not in TMPDIR until the end.", metavar="DIR"
    )


class Place:
    """Where all tables of a command are held while it looks at them: in memory, or on disk.

    ``held`` removes what was written for this command alone, at its end.
    """

    def __init__(self, request: Reader, sources: list[str], held: ExitStack) -> None:
        engine, self._blocks, self._held = request.engine, request.blocks, held
        prepared = [source for source in sources if is_prepared(source)]
        if engine == "memory" and prepared:
            raise SettingsInvalid(f"{prepared[0]} is prepared on disk; leave out --engine memory")
        self._on_disk = engine == "disk" or bool(prepared)
        if engine == "auto" and not prepared:
            self._on_disk = not all(map(fits_into_memory, sources))
        if self._on_disk and STANDARD_INPUT in sources:
            raise SettingsInvalid("standard input is held in memory; leave out --engine disk, or give a file")
        if self._blocks is not None and not self._on_disk:
            raise SettingsInvalid("--blocks says where --engine disk puts its ratings; leave it out")

    def read(
        self, source: str, name: str, model: Model, reading: dict[str, Any], alike: AnyRatings | None = None
    ) -> AnyRatings:
        """The ratings of one table; ``name``: that of its folder among the blocks."""
        if is_prepared(source):
            ratings = StoredRatings.open(source, model.catalogue)
            if ratings.rating_range != model.item_side.scale.range:
                raise RatingsInvalid(
                    f"{source} was prepared for {ratings.scale}, and the model was trained on "
                    f"{model.item_side.scale}; prepare the table again for this model"
                )
            return ratings
        if not self._on_disk:
            return Ratings.from_file(source, **reading)
        if self._blocks is None:
            self._blocks = self._held.enter_context(tempfile.TemporaryDirectory(prefix="discreet-blocks-"))
        beside = alike if isinstance(alike, StoredRatings) else None
        return on_disk(source, Path(self._blocks) / name, reading, alike=beside)


class _Noted(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    arguments: list[str]
    folder: str


class ResumableCommand(click.Command):
    """A command that can be given ``--resume DIR`` in place of everything else."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the noted arguments in the place of ``--resume DIR``."""
        words = [
            part for word in args for part in (word.split("=", 1) if word.startswith("--resume=") else [word])
        ]
        if "--resume" in words[:-1]:
            place = words.index("--resume")
            folder, others = words[place + 1], [*words[:place], *words[place + 2 :]]
            if not set(others) <= {"--json"}:
                raise SettingsInvalid(
                    f"--resume stands alone: the run in {folder} goes on with the arguments that it was begun with"
                )
            noted = _read(folder)
            args = [*noted.arguments, *(word for word in others if word not in noted.arguments)]
            ctx.meta[_RESUMED] = str(Path(folder).absolute())
            os.chdir(noted.folder)
        ctx.meta[_ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)


def resumed(ctx: click.Context) -> str | None:
    """The folder of the run that goes on, where one does."""
    folder: str | None = ctx.meta.get(_RESUMED)
    return folder


def _note_arguments(ctx: click.Context, folder: Path) -> None:
    """Write down how the command was called, so that it can be called so again."""
    if (folder / _FILE).is_file():
        return
    arguments: list[str] = ctx.meta[_ARGUMENTS]
    ledger: Any = ctx.params.get("ledger")
    if ledger and not any(word.partition("=")[0] == "--ledger" for word in arguments):
        arguments = [*arguments, f"--ledger={ledger}"]  # the environment named it, and may not do so again
    noted = _Noted(arguments=arguments, folder=os.getcwd()).model_dump_json(indent=1).encode()
    replace_file(folder / _FILE, lambda file: file.write(noted), private=True)


def _read(folder: str) -> _Noted:
    try:
        return _Noted.model_validate_json((Path(folder) / _FILE).read_bytes())
    except (OSError, ValidationError, ValueError):
        raise SettingsInvalid(
            f"{folder} has no stopped run in it; give the folder that was named with --checkpoint, or OUT.run"
        ) from None
