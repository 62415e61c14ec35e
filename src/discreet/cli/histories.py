"""Histories to recommend from, in a file of one or many users.

table (CSV, Parquet, NDJSON)   columns for item and rating; with a column for the user, many users
.json                          {item: rating} or [item, ...] for one user, {user: either of these} for many

For a table of what people take a rating is 1, or -1 for what is not for somebody.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl

from discreet.catalogue import TABLE_ERRORS, scan_table
from discreet.catalogue.names import closest, no_column
from discreet.cli.output import Output
from discreet.cli.place_options import Place
from discreet.cli.request import Argument, Option
from discreet.data import StoredRatings
from discreet.data.ratings import Ratings
from discreet.data.readers import list_files
from discreet.data.rows import read_values
from discreet.data.stored import is_prepared
from discreet.engines.choice import AnyRatings
from discreet.errors import HistoryInvalid
from discreet.model import History, Model
from discreet.model.history import UnknownItems

__all__ = ["Person", "of_one", "read_histories"]

USER_NAMES = ("user", "user_id")
ITEM_NAMES = ("item", "item_id", "id")
RATING_NAMES = ("rating",)


class Person(Output):
    """A model, and whose history it meets. Where a column is not named, a usual name is looked for."""

    model: Annotated[str, Argument("MODEL")]
    history: Annotated[str, Option("What was rated or chosen: CSV, Parquet, NDJSON or JSON.", metavar="FILE")]
    user: Annotated[str | None, Option("Only this user of the file.", metavar="ID")] = None
    user_column: Annotated[
        str | None, Option("Column of user ids, if it is not called user or user_id.", metavar="NAME")
    ] = None
    item_column: Annotated[
        str | None, Option("Column of item ids, if it is not called item, item_id or id.", metavar="NAME")
    ] = None
    rating_column: Annotated[
        str | None,
        Option(
            "Column of ratings, if it is not called rating; of 1 and -1 (not for me) where people took things.",
            metavar="NAME",
        ),
    ] = None
    disliked: Annotated[
        tuple[str, ...], Option("An item that is not for this person; may come again.", metavar="ID")
    ] = ()
    unknown_items: Annotated[
        Literal["error", "drop"], Option("Items of the history or of the lists that the model does not know.")
    ] = "error"


def of_one(histories: AnyRatings | History, request: Person) -> History:
    """The history of the person who was named, or the only one there is."""
    if not isinstance(histories, Ratings | StoredRatings):
        if request.user is None:
            return histories
        raise HistoryInvalid(
            f"{request.history} does not tell users apart, so {request.user!r} cannot be found in it"
        )
    if request.user is None:
        raise HistoryInvalid(f"{request.history} has several people's rows; name one of them with --user ID")
    return histories.history(request.user)


def read_histories(request: Person, model: Model, place: Place) -> AnyRatings | History:
    """What a file, a folder or a pattern holds: many users' rows over the model's catalogue, or one history.

    Parameters
    ----------
    place
        Where the rows of many users are held.
    """
    path, unknown_items = request.history, request.unknown_items
    columns = {name: getattr(request, f"{name}_column") for name in ("user", "item", "rating")}
    if is_prepared(path):
        return place.read(path, "history", model, _reading(model, unknown_items, signed=False))
    rated = model.item_side.scale.explicit or columns["rating"] is not None
    if path.lower().endswith(".json"):
        return _from_json(Path(path), model, unknown_items)
    try:
        first = list_files(path)[0]
        names, _, table, _ = scan_table(first)
        user = _column(names, columns["user"], USER_NAMES)
        if user is None and first != Path(path):
            user = _required(names, None, USER_NAMES, "--user-column")
        item = _required(names, columns["item"], ITEM_NAMES, "--item-column")
        rating = None
        if rated:
            rating = _required(names, columns["rating"], RATING_NAMES, "--rating-column")
        if user is None:
            frame = table.select([name for name in (item, rating) if name is not None]).collect()
            if rating is None:
                return frame.to_series().to_list()
            pairs = _pairs(frame, rating)
            return pairs if model.item_side.scale.explicit else _signed(pairs)
    except TABLE_ERRORS as error:
        reason = str(error).strip().split("\n")[0]
        hint = "; save it as UTF-8" if "utf-8 sequence" in reason else ""
        raise HistoryInvalid(f"the history {path} cannot be read: {reason}{hint}") from error
    reading = _reading(model, unknown_items, signed=rated)
    return place.read(path, "history", model, {**reading, "user": user, "item": item, "rating": rating})


def _pairs(frame: pl.DataFrame, rating: str) -> list[tuple[Any, ...]]:
    """Items with their ratings, of which a text may have a decimal comma, as in a table to train on."""
    values, unread = read_values(frame[rating], rating)
    read = [
        given if odd else value
        for given, value, odd in zip(frame[rating], values.tolist(), unread, strict=True)
    ]
    return list(zip(frame.to_series(0).to_list(), read, strict=True))


def _signed(pairs: list[tuple[Any, ...]]) -> History:
    """Items with 1 or -1."""
    history = dict(pairs)
    if len(history) < len(pairs):
        raise HistoryInvalid("the history names an item more than once; keep one row for each item")
    return history


def _from_json(path: Path, model: Model, unknown_items: UnknownItems) -> Ratings | History:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise HistoryInvalid(f"the history {path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise HistoryInvalid(f"the history {path} is not valid JSON: {error}") from error
    if not isinstance(content, dict | list):
        raise HistoryInvalid(f"the history {path} must be an object or a list, not {content!r}")
    if isinstance(content, dict) and any(isinstance(part, dict | list) for part in content.values()):
        return _many(content, model, unknown_items)
    return content


def _many(content: dict[str, Any], model: Model, unknown_items: UnknownItems) -> Ratings:
    explicit = model.item_side.scale.explicit
    rows: list[tuple[str, Any, Any]] = []
    for user, history in content.items():
        if not isinstance(history, dict | list):
            raise HistoryInvalid(f"the history of user {user!r} must be an object or a list, not {history!r}")
        if not history:
            raise HistoryInvalid(
                f"the history of user {user!r} is empty; leave the user out, or ask for them alone"
            )
        if isinstance(history, list) and explicit:
            raise HistoryInvalid(
                f"the history of user {user!r} is a list, but this model was trained on ratings: give each item its "
                "rating, as in {item: rating}"
            )
        pairs = history.items() if isinstance(history, dict) else ((item, 1.0) for item in history)
        rows.extend((user, str(item), rating) for item, rating in pairs)
    # Columns of objects, of which each is read by itself: what stands in one history must not round another's ratings.
    users, items, values = ([row[place] for row in rows] for place in range(3))
    frame = {"user": users, "item": items, "rating": values}
    reading = _reading(model, unknown_items, signed=True)
    return Ratings.from_frame(frame, **reading, user="user", item="item", rating="rating")


def _reading(model: Model, unknown_items: UnknownItems, *, signed: bool) -> dict[str, Any]:
    """With signs, values of what people take are read as numbers; what they must be the model says."""
    return {
        "rating_range": model.item_side.scale.range or ((-1.0, 1.0) if signed else None),
        "catalogue": model.catalogue,
        "missing": "error",
        "out_of_range": "error",
        "unknown_items": unknown_items,
        "duplicates": "error",
        "allow_dropped": 1.0,
    }


def _column(names: list[str], given: str | None, usual: tuple[str, ...]) -> str | None:
    """The column of that name, or the first one with a usual name if there is any."""
    if given is None:
        return next((name for name in usual if name in names), None)
    if given not in names:
        raise HistoryInvalid(f"the history: {no_column(given, names)}")
    return given


def _required(names: list[str], given: str | None, usual: tuple[str, ...], option: str) -> str:
    found = _column(names, given, usual)
    if found is None:
        meant = next((name for one in usual if (name := closest(one, names))), None)
        raise HistoryInvalid(
            f"the history has no column named {' or '.join(usual)}; it has {', '.join(names)}: "
            f"name the right one with {option}" + (f", perhaps {meant!r}" if meant else "")
        )
    return found
