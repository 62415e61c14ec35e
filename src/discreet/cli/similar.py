"""``discreet similar``: items like an item."""

from __future__ import annotations

from discreet.cli.answers import say_notes, show_recommendations
from discreet.cli.output import Output, print_json
from discreet.cli.request import argument, option, takes
from discreet.model import Model

__all__ = ["command"]


class _Asked(Output):
    model: str = argument("MODEL")
    item: str = option("Id of the item to compare with.")
    count: int = option("How many items.", 10, name="-n", ge=1)


@takes(_Asked, "similar")
def command(request: _Asked) -> None:
    """Show the items that are most like an item.

    Of a table of weights: how often two items are taken together, over the root of how often each is, with the
    standard deviation that the noise gives it. What does not stand out of the noise is not shown.

    Of factors: the expected correlation of what people think of the two items. It is smaller for items of which little
    is known; such items are marked.

    \b
    Example:
      discreet similar model/ --item item-17 -n 5
    """
    model = Model.load(request.model)
    found = model.similar(request.item, request.count)
    if request.as_json:
        print_json({"item": request.item, **found.to_dict()})
        say_notes(found.notes)
    else:
        show_recommendations(found, f"Like {request.item}", "similarity")
