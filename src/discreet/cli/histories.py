"""Histories to recommend from, in a file of one or many users.

table (CSV, Parquet, NDJSON)   columns for item and rating; with a column for the user, many users
.json                          {item: rating} or [item, ...] for one user

For a table of what people take a rating is 1, or -1 for what is not for somebody.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import polars as pl

from discreet.catalogue import TABLE_ERRORS, scan_items
from discreet.catalogue.columns import closest, no_column
from discreet.cli.output import Output
from discreet.cli.request import argument, option
from discreet.cli.where import Place
from discreet.data import StoredRatings
from discreet.data.ratings import Ratings
from discreet.data.readers import list_files
from discreet.data.rows import read_values
from discreet.data.stored import is_prepared
from discreet.engines.choice import AnyRatings
from discreet.errors import HistoryInvalid
from discreet.model import History, Model

__all__ = ["Person", "of_one", "read_histories"]

_USUAL = {"user": ("user", "user_id"), "item": ("item", "item_id", "id"), "rating": ("rating",)}


class Person(Output):
    """A model, and whose history it meets. Where a column is not named, a usual name is looked for."""

    model: str = argument("MODEL")
    history: str = option("What was rated or chosen: CSV, Parquet, NDJSON or JSON.", metavar="FILE")
    user: str | None = option("Only this user of the file.")
    user_column: str | None = option("Column of user ids, if it is not called user or user_id.")
    item_column: str | None = option("Column of item ids, if it is not called item, item_id or id.")
    rating_column: str | None = option(
        "Column of ratings, if it is not called rating; of 1 and -1 (not for me) where people took things."
    )
    disliked: tuple[str, ...] = option("An item that is not for this person; may come again.")
    unknown_items: Literal["error", "drop"] = option(
        "Items of the history or of the lists that the model does not know.", "error"
    )


def of_one(histories: AnyRatings | History, request: Person) -> History:
    """The history of the person who was named, or the only one there is."""
    if not isinstance(histories, Ratings | StoredRatings):
        if request.user is None:
            return histories
        raise HistoryInvalid(
            f"{request.history} does not tell users apart, so {request.user!r} cannot be found in it; leave --user out"
        )
    if request.user is None:
        raise HistoryInvalid(f"{request.history} has several people's rows; name one of them with --user ID")
    return histories.history(request.user)


def read_histories(request: Person, model: Model, place: Place) -> AnyRatings | History:
    """What a file, a folder or a pattern holds: many users' rows over the model's catalogue, or one history."""
    path, explicit = request.history, model.item_side.scale.explicit
    if is_prepared(path):
        return place.read(path, "history", model, {})
    if path.lower().endswith(".json"):
        return _from_json(Path(path))
    rated = explicit or request.rating_column is not None
    try:
        first = list_files(path)[0]
        names, _, table, _ = scan_items(first)
        user = _column(names, request.user_column, "user", needed=first != Path(path))
        item = _column(names, request.item_column, "item", needed=True)
        rating = _column(names, request.rating_column, "rating", needed=True) if rated else None
        if user is None:
            return _one(table.select([name for name in (item, rating) if name]).collect(), explicit=explicit)
    except TABLE_ERRORS as error:
        reason = str(error).strip().split("\n")[0]
        hint = "; save it as UTF-8" if "utf-8 sequence" in reason else ""
        raise HistoryInvalid(f"the history {path} cannot be read: {reason}{hint}") from error
    reading = {
        "user": user,
        "item": item,
        "rating": rating,
        "catalogue": model.catalogue,
        # Signs of what people take are read as numbers; what they must be the model says.
        "rating_range": model.item_side.scale.range or ((-1.0, 1.0) if rated else None),
        "missing": "error",
        "out_of_range": "error",
        "unknown_items": request.unknown_items,
        "duplicates": "error",
        "allow_dropped": 1.0,
    }
    return place.read(path, "history", model, reading)


def _one(frame: pl.DataFrame, *, explicit: bool) -> History:
    """Items, with their ratings if there are any, of which a text may have a decimal comma."""
    items: list[Any] = frame.to_series(0).to_list()
    if frame.width == 1:
        return items
    given = frame.to_series(1)
    values, unread = read_values(given, given.name)
    read = [was if odd else value for was, value, odd in zip(given, values.tolist(), unread, strict=True)]
    pairs = list(zip(items, read, strict=True))
    if explicit:
        return pairs
    if len(set(items)) < len(items):
        raise HistoryInvalid("the history names an item more than once; keep one row for each item")
    return dict(pairs)


def _from_json(path: Path) -> History:
    """One person's items, with their ratings or without."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise HistoryInvalid(f"the history {path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise HistoryInvalid(f"the history {path} is not valid JSON: {error}") from error
    if not isinstance(content, dict | list):
        raise HistoryInvalid(f"the history {path} must be an object or a list, not {content!r}")
    if isinstance(content, dict) and any(isinstance(part, dict | list) for part in content.values()):
        raise HistoryInvalid(
            f"{path} has histories of several people; JSON is one person's: give them as a table with a column user"
        )
    return content


def _column(names: list[str], given: str | None, what: str, *, needed: bool = False) -> str | None:
    """The column of that name, or the first one with a usual name if there is any."""
    if given is not None:
        if given not in names:
            raise HistoryInvalid(f"the history: {no_column(given, names)}")
        return given
    usual = _USUAL[what]
    found = next((name for name in usual if name in names), None)
    if found is None and needed:
        meant = next((name for one in usual if (name := closest(one, names))), None)
        raise HistoryInvalid(
            f"the history has no column named {' or '.join(usual)}; it has {', '.join(names)}: "
            f"name the right one with --{what}-column" + (f", perhaps {meant!r}" if meant else "")
        )
    return found
