"""``discreet recommend``: items for one person or for many."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import click
import polars as pl
from polars.io.plugins import register_io_source

from discreet.catalogue import Catalogue
from discreet.cli.answers import say_notes, sentence, show_recommendations
from discreet.cli.histories import Person, of_one, read_histories
from discreet.cli.output import check_file, print_json, printer, show_table
from discreet.cli.request import option, takes
from discreet.cli.where import Place, Reader
from discreet.data import StoredRatings
from discreet.data.ratings import Ratings
from discreet.engines.choice import AnyRatings
from discreet.errors import HistoryInvalid, SettingsInvalid
from discreet.model import History, Model, Recommendations
from discreet.model.directory import replace_file
from discreet.model.history import BLOCK

__all__ = ["command"]

# Rows that are made at once, at least those of a block of users.
_ROWS = 1 << 20


class _Asked(Person, Reader):
    count: int = option("How many items.", 10, name="-n", ge=1)
    allowed: str | None = option("List of items to choose from.", metavar="FILE")
    blocked: str | None = option("List of items never to choose.", metavar="FILE")
    include_seen: bool = option("Items of the history may come again.")
    out: Path | None = option("Write user, rank, item and score to a file: .parquet or .csv.", metavar="FILE")

    def choice(self) -> dict[str, Any]:
        """Of which items, as `Model.recommend` has it."""
        allowed, blocked = (
            None if path is None else Catalogue.from_file(path).ids.tolist()
            for path in (self.allowed, self.blocked)
        )
        choice = {"allowed": allowed, "blocked": blocked, "exclude_seen": not self.include_seen}
        return {**choice, "unknown_items": self.unknown_items}


@takes(_Asked, "recommend")
def command(request: _Asked) -> None:
    """Recommend items from a history, for anyone, whether they were in the training data or not.

    This costs no privacy budget: a person's own history meets only what was released. With --out, users are
    written as they are done, and histories that do not fit into memory are grouped by user on disk first; FILE may
    also be a folder, a pattern, or the folder that train --blocks kept.

    \b
    Examples:
      discreet recommend model/ --history mine.csv -n 5
      discreet recommend model/ --history mine.csv --disliked item-3 --disliked item-8
      discreet recommend model/ --history everyone.parquet --user 17
      discreet recommend model/ --history everyone.parquet --out recommendations.parquet
    """
    if request.out is not None:
        check_file(request.out, ".parquet", ".csv")
    model = Model.load(request.model)
    score_name = "predicted rating" if model.goal == "rate" else "score"
    with ExitStack() as held:
        history = _asked_for(read_histories(request, model, Place(request, [request.history], held)), request)
        if request.out is not None:
            _write(model, history, request, request.out)
            say_notes(model.notes)
            return
        if isinstance(history, StoredRatings):
            raise SettingsInvalid(
                "for everybody on disk there are too many rows to show; write them with --out FILE"
            )
        found = _recommend(model, history, request)
    if request.as_json:
        print_json(_as_dict(found, request.user))
        say_notes(model.notes)
    elif isinstance(found, Recommendations):
        show_recommendations(found, "Recommended", score_name)
    else:
        rows = (
            (user, rank, *(("none left", "") if item is None else (item, f"{score:.3f}")))
            for user, rank, item, score in found.iter_rows()
        )
        show_table(rows, ("user", "rank", "item", score_name))
        for note in model.notes:
            printer().print(sentence(note))


def _asked_for(histories: AnyRatings | History, request: _Asked) -> AnyRatings | History:
    """Everybody, or the one who was named."""
    if request.user is not None:
        return of_one(histories, request)
    if request.disliked and isinstance(histories, Ratings | StoredRatings):
        raise HistoryInvalid(
            f"--disliked is what one person says, and {request.history} has several people's rows; name one with "
            "--user ID"
        )
    return histories


def _recommend(model: Model, history: Ratings | History, request: _Asked) -> Recommendations | pl.DataFrame:
    if isinstance(history, Ratings):
        return model.recommend_batch(history, request.count, **request.choice())
    return model.recommend(history, request.count, disliked=request.disliked, **request.choice())


def _as_dict(found: Recommendations | pl.DataFrame, user: str | None) -> dict[str, Any]:
    if isinstance(found, Recommendations):
        return {"user": user, **found.to_dict()}
    users = []
    for (one,), rows in found.group_by("user", maintain_order=True):
        given = rows.drop_nulls("item").drop("user", "rank").to_dicts()
        users.append({"user": one, "recommendations": given, "shortfall": rows.height - len(given)})
    return {"users": users}


def _write(model: Model, history: AnyRatings | History, request: _Asked, out: Path) -> None:
    """All lists in a file, whole or not at all, written as they are made: never all of them in memory."""
    told = {"rows": 0, "shortfall": 0}

    def counted() -> Iterator[pl.DataFrame]:
        for frame in _frames(model, history, request):
            told["rows"] += frame.height
            told["shortfall"] += frame["item"].null_count()
            yield frame

    write = _write_csv if out.suffix.lower() == ".csv" else _write_parquet
    replace_file(out, lambda file: write(counted(), file), private=True)
    if request.as_json:
        print_json({"out": str(out), **told})
    else:
        click.echo(f"{told['rows']:,} rows, {told['shortfall']:,} of them without an item left, in {out}")


def _frames(model: Model, history: AnyRatings | History, request: _Asked) -> Iterator[pl.DataFrame]:
    """Lists of some users each; from disk in the order of the blocks."""
    if not isinstance(history, Ratings | StoredRatings):
        found = _recommend(model, history, request)
        assert isinstance(found, Recommendations)
        rows = [(request.user, rank, one.item, one.score) for rank, one in enumerate(found, 1)]
        yield pl.DataFrame(rows, schema=["user", "rank", "item", "score"], orient="row")
        return
    choice, step = request.choice(), max(1, _ROWS // request.count // BLOCK) * BLOCK
    for part in [history] if isinstance(history, Ratings) else history.blocks(with_ids=True):
        for start in range(0, part.n_users, step):
            some = part.take_users(slice(start, start + step))
            yield model.recommend_batch(some, request.count, **choice)


def _write_csv(frames: Iterable[pl.DataFrame], file: BinaryIO) -> None:
    for number, frame in enumerate(frames):
        frame.write_csv(file, include_header=number == 0)


def _write_parquet(frames: Iterator[pl.DataFrame], file: BinaryIO) -> None:
    first = next(frames)
    failed: list[BaseException] = []

    def source(*pushed_down: object) -> Iterator[pl.DataFrame]:
        try:
            yield from itertools.chain([first], frames)
        except BaseException as error:  # polars would tell of it in words of its own
            failed.append(error)

    table = register_io_source(source, schema=first.schema)
    table.sink_parquet(file, engine="streaming", maintain_order=True)
    if failed:
        raise failed[0]
