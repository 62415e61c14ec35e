"""``discreet explain``: why an item has its score for a person."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from discreet.cli.answers import explained, sentence
from discreet.cli.histories import Person, of_one, read_histories
from discreet.cli.output import print_json, printer, show_table
from discreet.cli.request import option, takes
from discreet.cli.where import Place, Reader
from discreet.errors import HistoryInvalid
from discreet.model import Model
from discreet.model.explanation import Explanation

__all__ = ["command"]


class _Asked(Person):
    item: str | None = option("Which item.  [default: the first that is recommended]")
    count: int = option("How many ratings to show.", 10, name="-n", ge=1)


@takes(_Asked, "explain")
def command(request: _Asked) -> None:
    """Say why an item has its score for a person: what the item itself and each rating add to it.

    The parts add up to the score. This costs no privacy budget: a person's own history meets only what was released.

    \b
    Examples:
      discreet explain model/ --history mine.csv
      discreet explain model/ --history mine.csv --item item-17 --json
    """
    model = Model.load(request.model)
    with ExitStack() as held:
        place = Place(Reader(), [request.history], held)
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
        _show(found, request.count, explicit=model.item_side.scale.explicit)


def _show(found: Explanation, count: int, *, explicit: bool) -> None:
    rates = found.goal == "rate"
    others = found.pulls[count:]
    middle = "for everybody: the middle of the scale" if rates else "for everybody"
    itself = f"the item itself: how {'well it is liked' if rates else 'popular it is'}"
    given = ((middle, found.centre), (itself, found.offset), ("what is not in the history", found.rest))
    rows = [(what, "", adds) for what, adds in given if abs(adds) > 5e-5]
    rows += [
        (str(one.title or one.item), _said(one.rating, explicit), one.total) for one in found.pulls[:count]
    ]
    if others:
        rows.append((f"{len(others)} more ratings together", "", sum(one.total for one in others)))
    if abs(found.cut) > 5e-5:
        rows.append(("brought back into the range", "", found.cut))
    shown = [(what, said, f"{adds:+.4f}") for what, said, adds in rows]
    shown.append(("predicted rating" if rates else "score", "", f"{found.score:.4f}"))
    show_table(
        shown, ("what", "rating", "adds"), f"Why {found.title or found.item}?", right=("rating", "adds")
    )
    for line in (*explained([found.mark]), *map(sentence, found.notes)):
        printer().print(line)
    if found.ignored:
        printer().print(f"{found.ignored} unknown ids were left out.")


def _said(rating: float | None, explicit: bool) -> str:
    if rating is None:
        return "chosen"
    return f"{rating:g}" if explicit else "not for me"
