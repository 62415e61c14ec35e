"""``discreet recommend``: items for one person or for many."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import click
import polars as pl
from pydantic import Field
from rich.table import Table

from discreet.catalogue import Catalogue
from discreet.cli.answers import say_notes, sentence, show_recommendations
from discreet.cli.histories import Person, of_one, read_histories
from discreet.cli.output import print_json, printer
from discreet.cli.place_options import BlocksFolder, EngineName, Place
from discreet.cli.recommendation_file import check_file, recommend_in_parts, write_frames
from discreet.cli.request import Option, takes
from discreet.data import StoredRatings
from discreet.data.ratings import Ratings
from discreet.engines.choice import AnyRatings
from discreet.errors import HistoryInvalid, SettingsInvalid
from discreet.model import History, Model, Recommendations

__all__ = ["Recommend", "command"]


class Recommend(Person):
    """What `recommend` can be asked."""

    count: Annotated[int, Field(ge=1), Option("How many items.", name="-n")] = 10
    allowed: Annotated[str | None, Option("List of items to choose from.", metavar="FILE")] = None
    blocked: Annotated[str | None, Option("List of items never to choose.", metavar="FILE")] = None
    include_seen: Annotated[bool, Option("Items of the history may come again.")] = False
    out: Annotated[
        str | None, Option("Write user, rank, item and score to a file: .parquet or .csv.", metavar="FILE")
    ] = None
    engine: EngineName = "auto"
    blocks: BlocksFolder = None


@takes(Recommend, "recommend")
def command(request: Recommend) -> None:
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
    out = None if request.out is None else Path(request.out)
    if out is not None:
        check_file(out)
    model = Model.load(request.model)
    with ExitStack() as held:
        place = Place(request.engine, request.blocks, [request.history], held)
        history = _asked_for(read_histories(request, model, place), request)
        if out is not None:
            _write(model, history, request, out)
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
        show_recommendations(found, "Recommended", _score_name(model))
    else:
        _show_many(found, _score_name(model), model.notes)


def _asked_for(histories: AnyRatings | History, request: Recommend) -> AnyRatings | History:
    """Everybody, or the one who was named."""
    if request.user is not None:
        return of_one(histories, request)
    if request.disliked and isinstance(histories, Ratings | StoredRatings):
        raise HistoryInvalid(
            f"--disliked is what one person says, and {request.history} has several people's rows; name one with "
            "--user ID"
        )
    return histories


def _recommend(
    model: Model, history: Ratings | History, request: Recommend
) -> Recommendations | pl.DataFrame:
    if isinstance(history, Ratings):
        return model.recommend_batch(history, request.count, **_choice(request))
    return model.recommend(history, request.count, disliked=request.disliked, **_choice(request))


def _choice(request: Recommend) -> dict[str, Any]:
    return {
        "allowed": _read_ids(request.allowed),
        "blocked": _read_ids(request.blocked),
        "exclude_seen": not request.include_seen,
        "unknown_items": request.unknown_items,
    }


def _read_ids(path: str | None) -> list[Any] | None:
    return None if path is None else Catalogue.from_file(path).ids.tolist()


def _write(model: Model, history: AnyRatings | History, request: Recommend, out: Path) -> None:
    if isinstance(history, Ratings | StoredRatings):
        frames = recommend_in_parts(model, history, request.count, _choice(request))
    else:
        found = _recommend(model, history, request)
        assert isinstance(found, Recommendations)
        frames = iter([_frame(found, request.user)])
    result = {"out": str(out), **write_frames(frames, out)}
    if request.as_json:
        print_json(result)
    else:
        click.echo(f"{result['rows']:,} rows, {result['shortfall']:,} of them without an item left, in {out}")


def _frame(found: Recommendations, user: str | None) -> pl.DataFrame:
    rows = [(user, rank, one.item, one.score) for rank, one in enumerate(found, 1)]
    return pl.DataFrame(rows, schema=["user", "rank", "item", "score"], orient="row")


def _as_dict(found: Recommendations | pl.DataFrame, user: str | None) -> dict[str, Any]:
    if isinstance(found, Recommendations):
        return {"user": user, **found.to_dict()}
    users = []
    for (one,), rows in found.group_by("user", maintain_order=True):
        given = rows.drop_nulls("item").drop("user", "rank").to_dicts()
        users.append({"user": one, "recommendations": given, "shortfall": rows.height - len(given)})
    return {"users": users}


def _show_many(frame: pl.DataFrame, score_name: str, notes: tuple[str, ...]) -> None:
    table = Table("user", "rank", "item", score_name)
    for user, rank, item, score in frame.iter_rows():
        shown = ["none left"] if item is None else [str(item), f"{score:.3f}"]
        table.add_row(str(user), str(rank), *shown)
    console = printer()
    console.print(table)
    for note in notes:
        console.print(sentence(note))


def _score_name(model: Model) -> str:
    return "predicted rating" if model.goal == "rate" else "score"
