"""``discreet explain``: why an item has its score for a person."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import click
from rich.table import Table

from discreet.cli.answers import explained, sentence
from discreet.cli.histories import read_histories
from discreet.cli.output import json_option, print_json, printer
from discreet.cli.place_options import Place
from discreet.data import StoredRatings
from discreet.data.ratings import Ratings
from discreet.engines.choice import AnyRatings
from discreet.errors import HistoryInvalid
from discreet.model import History, Model
from discreet.model.explanation import Explanation
from discreet.model.item_side import ItemSide
from discreet.model.item_weights import AnySide

__all__ = ["command"]


@click.command("explain")
@click.argument("model_directory", metavar="MODEL")
@click.option(
    "--history", required=True, metavar="FILE", help="What was rated or chosen: CSV, Parquet, NDJSON or JSON."
)
@click.option("--item", metavar="ID", help="Which item.  [default: the first that is recommended]")
@click.option("--user", metavar="ID", help="Whose rows of the file, where it has several people's.")
@click.option(
    "-n", "count", type=click.IntRange(min=1), default=10, show_default=True, help="How many ratings to show."
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
@click.option(
    "--unknown-items",
    type=click.Choice(["error", "drop"]),
    default="error",
    show_default=True,
    help="Items of the history that the model does not know.",
)
@json_option
def command(model_directory: str, item: str | None, count: int, as_json: bool, **options: Any) -> None:
    """Say why an item has its score for a person: what the item itself and each rating add to it.

    The parts add up to the score. This costs no privacy budget: a person's own history meets only what was released.

    \b
    Examples:
      discreet explain model/ --history mine.csv
      discreet explain model/ --history mine.csv --item item-17 --json
    """
    model = Model.load(model_directory)
    history, unknown, disliked = _history(model, options), options["unknown_items"], options["disliked"]
    wanted: Any = item
    if wanted is None:
        best = list(model.recommend(history, 1, disliked=disliked, unknown_items=unknown))
        if not best:
            raise HistoryInvalid(
                "the history has every item, so none is left to recommend; name one with --item"
            )
        wanted = best[0].item
    found = model.explain(history, wanted, disliked=disliked, unknown_items=unknown)
    if as_json:
        print_json(found.to_dict())
    else:
        _show(found, count, model.item_side)


def _history(model: Model, options: dict[str, Any]) -> History:
    columns = {name: options[f"{name}_column"] for name in ("user", "item", "rating")}
    with ExitStack() as held:
        place = Place("auto", None, [options["history"]], held)
        return _of_one(
            read_histories(options["history"], model, columns, options["unknown_items"], place), options
        )


def _of_one(histories: AnyRatings | History, options: dict[str, Any]) -> History:
    if not isinstance(histories, Ratings | StoredRatings):
        if options["user"] is not None:
            raise HistoryInvalid(f"{options['history']} does not tell users apart; leave --user out")
        return histories
    if options["user"] is None:
        raise HistoryInvalid(
            f"{options['history']} has several people's rows; name one of them with --user ID"
        )
    return histories.history(options["user"])


def _show(found: Explanation, count: int, side: AnySide) -> None:
    name = found.title or str(found.item)
    rates = found.goal == "rate"
    table = Table(title=f"Why {name}?", title_justify="left")
    table.add_column("what")
    factors = isinstance(side, ItemSide)  # a table of weights has no level, and nothing is the same for all
    for column in ("rating", *(("through level", "through taste") if factors else ()), "adds"):
        table.add_column(column, justify="right")

    def add(what: str, rating: str, level: float | None, taste: float | None, total: float) -> None:
        parts = ["" if one is None else _signed(one) for one in (level, taste)] if factors else []
        table.add_row(what, rating, *parts, _signed(total))

    if factors:
        middle = "for everybody: the middle of the scale" if rates else "for everybody"
        add(middle, "", None, None, found.centre)
    add(
        f"the item itself: how {'well it is liked' if rates else 'popular it is'}",
        "",
        None,
        None,
        found.offset,
    )
    if abs(found.rest) > 5e-5:
        add("what is not in the history", "", None, None, found.rest)
    for pull in found.pulls[:count]:
        said = _said(pull.rating, side.scale.explicit)
        add(pull.title or str(pull.item), said, pull.level, pull.taste, pull.total)
    others = found.pulls[count:]
    if others:
        level, taste = sum(pull.level for pull in others), sum(pull.taste for pull in others)
        add(f"{len(others)} more ratings together", "", level, taste, level + taste)
    if abs(found.cut) > 5e-5:
        add("brought back into the range", "", None, None, found.cut)
    table.add_section()
    score = "predicted rating" if rates else "score"
    table.add_row(score, *("",) * (len(table.columns) - 2), f"{found.score:.4f}")
    console = printer()
    console.print(table)
    for line in (*explained([found.mark]), *map(sentence, found.notes)):
        console.print(line)
    if found.ignored:
        console.print(f"{found.ignored} unknown ids were left out.")


def _said(rating: float | None, explicit: bool) -> str:
    if rating is None:
        return "chosen"
    return f"{rating:g}" if explicit else "not for me"


def _signed(value: float) -> str:
    return f"{value:+.4f}"
