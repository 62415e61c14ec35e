"""``discreet recommend``: items for one person or for many."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import polars as pl
from rich.table import Table

from discreet import kernels
from discreet.catalogue import Catalogue
from discreet.cli.answers import say_notes, sentence, show_recommendations
from discreet.cli.device_option import device_option
from discreet.cli.histories import read_histories
from discreet.cli.output import json_option, print_json, printer
from discreet.cli.place_options import Place, place_options
from discreet.cli.recommendation_file import check_file, recommend_in_parts, write_frames
from discreet.data import StoredRatings
from discreet.data.ratings import Ratings
from discreet.engines.choice import AnyRatings
from discreet.errors import HistoryInvalid, SettingsInvalid
from discreet.model import History, Model, Recommendations

__all__ = ["command"]


@click.command("recommend")
@click.argument("model_directory", metavar="MODEL")
@click.option(
    "--history", required=True, metavar="FILE", help="What was rated or chosen: CSV, Parquet, NDJSON or JSON."
)
@click.option("--user", metavar="ID", help="Only this user of the file.")
@click.option(
    "-n", "count", type=click.IntRange(min=1), default=10, show_default=True, help="How many items."
)
@click.option("--user-column", help="Column of user ids, if it is not called user or user_id.")
@click.option("--item-column", help="Column of item ids, if it is not called item, item_id or id.")
@click.option(
    "--rating-column",
    help="Column of ratings, if it is not called rating; of 1 and -1 (not for me) where people took things.",
)
@click.option(
    "--disliked", metavar="ID", multiple=True, help="An item that is not for this person; may come again."
)
@click.option("--allowed", metavar="FILE", help="List of items to choose from.")
@click.option("--blocked", metavar="FILE", help="List of items never to choose.")
@click.option("--include-seen", is_flag=True, help="Items of the history may come again.")
@click.option(
    "--unknown-items",
    type=click.Choice(["error", "drop"]),
    default="error",
    show_default=True,
    help="Items of the history or of the lists that the model does not know.",
)
@click.option("--out", metavar="FILE", help="Write user, rank, item and score to a file: .parquet or .csv.")
@place_options
@device_option
@json_option
def command(model_directory: str, out: str | None, as_json: bool, **options: Any) -> None:
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
    if out is not None:
        check_file(Path(out))
    model = Model.load(model_directory)
    with ExitStack() as held, kernels.ranking_on(options["device"]):
        history = _history(model, options, held)
        if isinstance(history, StoredRatings) and out is None:
            raise SettingsInvalid(
                "for everybody on disk there are too many rows to show; write them with --out FILE"
            )
        if out is not None:
            _write(model, history, options, Path(out), as_json)
            say_notes(model.notes)
            return
        assert not isinstance(history, StoredRatings)
        found = _recommend(model, history, options)
    if as_json:
        print_json(_as_dict(found, options["user"]))
    elif isinstance(found, Recommendations):
        show_recommendations(found, "Recommended", _score_name(model))
        return
    else:
        _show_many(found, _score_name(model), model.notes)
        return
    say_notes(model.notes)


def _history(model: Model, options: dict[str, Any], held: ExitStack) -> AnyRatings | History:
    columns = {name: options[f"{name}_column"] for name in ("user", "item", "rating")}
    path, user = options["history"], options["user"]
    place = Place(options["engine"], options["blocks"], [path], held)
    histories = read_histories(path, model, columns, options["unknown_items"], place)
    if user is None:
        if options["disliked"] and isinstance(histories, Ratings | StoredRatings):
            raise HistoryInvalid(
                f"--disliked is what one person says, and {path} has several people's rows; name one with --user ID"
            )
        return histories
    if not isinstance(histories, Ratings | StoredRatings):
        raise HistoryInvalid(
            f"{options['history']} does not tell users apart, so {user!r} cannot be found in it"
        )
    return histories.history(user)


def _recommend(
    model: Model, history: Ratings | History, options: dict[str, Any]
) -> Recommendations | pl.DataFrame:
    choice = _choice(options)
    if isinstance(history, Ratings):
        return model.recommend_batch(history, options["count"], **choice)
    return model.recommend(history, options["count"], disliked=options["disliked"], **choice)


def _choice(options: dict[str, Any]) -> dict[str, Any]:
    choice: dict[str, Any] = {name: _read_ids(options[name]) for name in ("allowed", "blocked")}
    return choice | {"exclude_seen": not options["include_seen"], "unknown_items": options["unknown_items"]}


def _read_ids(path: str | None) -> list[Any] | None:
    return None if path is None else Catalogue.from_file(path).ids.tolist()


def _write(
    model: Model, history: AnyRatings | History, options: dict[str, Any], out: Path, as_json: bool
) -> None:
    if isinstance(history, Ratings | StoredRatings):
        frames = recommend_in_parts(model, history, options["count"], _choice(options))
    else:
        found = model.recommend(history, options["count"], disliked=options["disliked"], **_choice(options))
        frames = iter([_frame(found, options["user"])])
    result = {"out": str(out), **write_frames(frames, out)}
    if as_json:
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
