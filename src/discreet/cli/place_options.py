"""``--engine`` and ``--blocks`` of commands that only read: ratings for a model, in memory or on disk."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from discreet.catalogue.packed import STANDARD_INPUT
from discreet.cli.request import Option
from discreet.cli.row_options import ROW_OPTIONS
from discreet.data import StoredRatings, prepare
from discreet.data.preparation import fits_into_memory
from discreet.data.ratings import Ratings
from discreet.data.readers import TextFormat
from discreet.data.rows import Columns
from discreet.data.rules import RowRules
from discreet.data.stored import is_prepared
from discreet.engines.choice import AnyRatings
from discreet.errors import RatingsInvalid, SettingsInvalid
from discreet.model import Model

__all__ = ["BlocksFolder", "EngineName", "Place"]

_RULES = (*ROW_OPTIONS, "graded")


class Place:
    """Where tables of ratings are held while a command looks at them.

    Parameters
    ----------
    engine, blocks
        As they were given.
    sources
        All tables of the command: all of them are held in memory, or all of them on disk.
    held
        Removes what was written for this command alone, at its end.
    """

    def __init__(self, engine: str, blocks: str | None, sources: list[str], held: ExitStack) -> None:
        prepared = [source for source in sources if is_prepared(source)]
        if engine == "memory" and prepared:
            raise SettingsInvalid(f"{prepared[0]} is prepared on disk; leave out --engine memory")
        self.on_disk = engine == "disk" or bool(prepared)
        if engine == "auto" and not prepared:
            self.on_disk = not all(map(fits_into_memory, sources))
        if self.on_disk and STANDARD_INPUT in sources:
            raise SettingsInvalid("standard input is held in memory; leave out --engine disk, or give a file")
        if blocks is not None and not self.on_disk:
            raise SettingsInvalid("--blocks says where --engine disk puts its ratings; leave it out")
        self._blocks, self._held = blocks, held

    def read(
        self,
        source: str,
        name: str,
        model: Model,
        reading: dict[str, Any],
        alike: StoredRatings | None = None,
    ) -> AnyRatings:
        """The ratings of one table; ``name``: that of its folder among the blocks."""
        if not self.on_disk:
            return Ratings.from_file(source, **reading)
        if is_prepared(source):
            return _opened(source, model)
        return prepare(
            source,
            self._folder() / name,
            Columns(reading["user"], reading["item"], *map(reading.get, ("rating", "weight", "time"))),
            rating_range=reading["rating_range"],
            catalogue=model.catalogue,
            rules=RowRules.of(
                **{rule: reading[rule] for rule in _RULES if rule in reading},
                weighted=reading.get("weight") is not None,
            ),
            text=TextFormat(*map(reading.get, ("separator", "encoding"))),
            alike=alike,
        )

    def _folder(self) -> Path:
        if self._blocks is None:
            self._blocks = self._held.enter_context(tempfile.TemporaryDirectory(prefix="discreet-blocks-"))
        return Path(self._blocks)


def _opened(source: str, model: Model) -> StoredRatings:
    ratings = StoredRatings.open(source, model.catalogue)
    if ratings.rating_range != model.item_side.scale.range:
        raise RatingsInvalid(
            f"{source} was prepared for {ratings.scale}, and the model was trained on {model.item_side.scale}; prepare "
            "the table again for this model"
        )
    return ratings


EngineName: TypeAlias = Annotated[
    Literal["auto", "memory", "disk"],
    Option(
        "Where ratings are held; disk: grouped there first, then read a block at a time. Same result either way."
    ),
]
BlocksFolder: TypeAlias = Annotated[
    str | None,
    Option(
        "With --engine disk: keep the grouped ratings in DIR; else they go at the end, from the folder for "
        "temporary files (TMPDIR).",
        metavar="DIR",
    ),
]
