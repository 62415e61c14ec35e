"""``discreet explain``: why an item has its score for a person."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated, Any

from pydantic import Field
from rich.table import Table

from discreet.cli.answers import explained, sentence
from discreet.cli.histories import Person, of_one, read_histories
from discreet.cli.output import print_json, printer
from discreet.cli.place_options import Place
from discreet.cli.request import Option, takes
from discreet.errors import HistoryInvalid
from discreet.model import Model
from discreet.model.explanation import Explanation
from discreet.model.item_side import ItemSide
from discreet.model.item_weights import AnySide

__all__ = ["Explain", "command"]


class Explain(Person):
    """What `explain` can be asked."""

    item: Annotated[
        str | None, Option("Which item.  [default: the first that is recommended]", metavar="ID")
    ] = None
    count: Annotated[int, Field(ge=1), Option("How many ratings to show.", name="-n")] = 10


@takes(Explain, "explain")
def command(request: Explain) -> None:
    """Say why an item has its score for a person: what the item itself and each rating add to it.

    The parts add up to the score. This costs no privacy budget: a person's own history meets only what was released.

    \b
    Examples:
      discreet explain model/ --history mine.csv
      discreet explain model/ --history mine.csv --item item-17 --json
    """
    model = Model.load(request.model)
    with ExitStack() as held:
        place = Place("auto", None, [request.history], held)
        history = of_one(read_histories(request, model, place), request)
    said: dict[str, Any] = {"disliked": request.disliked, "unknown_items": request.unknown_items}
    wanted: Any = request.item
    if wanted is None:
        best = list(model.recommend(history, 1, **said))
        if not best:
            raise HistoryInvalid(
                "the history has every item, so none is left to recommend; name one with --item"
            )
        wanted = best[0].item
    found = model.explain(history, wanted, **said)
    if request.as_json:
        print_json(found.to_dict())
    else:
        _show(found, request.count, model.item_side)


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
