"""Options that say how files of ratings and of items are read; the same for every command that reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from discreet.catalogue import Catalogue
from discreet.cli.request import Request, option
from discreet.data.ratings import FileReading
from discreet.data.rules import Duplicates, Missing, OutOfRange, UnknownItems
from discreet.errors import RatingsInvalid, SettingsInvalid
from discreet.model import Model

__all__ = [
    "BadRows",
    "Columns",
    "Features",
    "Files",
    "Items",
    "Rows",
    "TextFile",
    "WholeRows",
    "read_features",
]

_REFUSES = " error: one such row refuses the file, which tells that it is there."
_MISSING = "Rows that lack a user, an item or a rating."
_OUTSIDE = "Ratings outside the range; clip: to its nearer end."
_UNKNOWN = "Rows of items that the catalogue lacks."
_ALLOWED = "Refuse a file of which a larger share of the rows would be left out."


def _separator(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """A tab may be written out."""
    return {"tab": "\t", r"\t": "\t"}.get(value or "", value)


class Columns(Request):
    """Which column is what."""

    user: str = option("Column of user ids: the unit of privacy.")
    item: str = option("Column of item ids.")
    rating: str | None = option("Column of ratings; leave it out for implicit feedback.")


class TextFile(Request):
    """How text is written."""

    separator: str | None = option(
        "Between columns of text: ; or tab or ::  [default: found in the first line]",
        metavar="TEXT",
        callback=_separator,
    )
    encoding: str | None = option("Of text: latin-1, cp1252, utf-16.  [default: utf-8]")


class Files(TextFile):
    """How files of ratings are written: times, separator and encoding."""

    time: str | None = option("Column of times: they say which of repeated rows is the last or the first.")


class BadRows(Request):
    """What becomes of rows that cannot be used: dropped, each by itself."""

    missing: Missing = option(_MISSING + _REFUSES, "drop")
    out_of_range: OutOfRange = option(_OUTSIDE + _REFUSES, "drop")
    unknown_items: UnknownItems = option(_UNKNOWN + _REFUSES, "drop")
    allow_dropped: float = option(_ALLOWED, 0.2, ge=0.0, le=1.0, metavar="SHARE")
    duplicates: Duplicates = option(
        "Rows that repeat a user and an item: which of them counts.", "last", name="--repeats"
    )


class Rows(Columns, Files, BadRows):
    """How the ratings of many users are read."""

    def reading(self) -> FileReading:
        """Parameters of `Ratings.from_file`."""
        found: Any = {name: getattr(self, name) for name in Rows.model_fields}
        reading: FileReading = found
        return reading


class WholeRows(Rows):
    """The same where nothing is dropped unless somebody says so; then all may be."""

    missing: Missing = option(_MISSING, "error")
    out_of_range: OutOfRange = option(_OUTSIDE, "error")
    unknown_items: UnknownItems = option(_UNKNOWN, "error")
    allow_dropped: float = option(_ALLOWED, 1.0, ge=0.0, le=1.0, metavar="SHARE")

    def reading_for(self, model: Model) -> dict[str, Any]:
        """The parameters for a model that is there: its catalogue and its rating range say how to read."""
        rating_range = model.item_side.scale.range
        if (self.rating is None) != (rating_range is None):
            raise RatingsInvalid(
                "the model was trained on what people chose, without ratings; leave out --rating"
                if rating_range is None
                else "the model was trained on ratings; name their column with --rating"
            )
        return {**self.reading(), "rating_range": rating_range, "catalogue": model.catalogue}


class Features(Request):
    """What is known of items."""

    features: tuple[str, ...] = option(
        "Columns of the catalogue that describe the items; repeatable. A kind (number, category, tags, "
        "text, people, embedding) is guessed if left out.",
        metavar="COLUMN[:KIND],...",
    )


class Items(Features):
    """The public list of items."""

    catalogue: str | None = option("Public list of items (CSV, Parquet, NDJSON or text).", metavar="FILE")
    catalogue_column: str | None = option(
        "Its column of item ids.  [default: item, item_id or id]", about="catalogue"
    )

    def read_catalogue(self, encoding: str | None = None) -> Catalogue | None:
        """The list with its features, where one was named."""
        features = read_features(self.features, self.catalogue)
        if self.catalogue is None:
            return None
        return Catalogue.from_file(
            self.catalogue, column=self.catalogue_column, features=features, encoding=encoding
        )


def read_features(given: Sequence[str], catalogue: str | None) -> list[str] | None:
    """Columns of ``--features``, each perhaps with a kind after a colon; ``None`` where there are none."""
    named = [part.strip() for text in given for part in text.split(",") if part.strip()]
    if given and not named:
        raise SettingsInvalid("--features names no column; write it like --features genres,title")
    if named and catalogue is None:
        raise SettingsInvalid("--features names columns of --catalogue FILE, which is missing")
    return named or None
