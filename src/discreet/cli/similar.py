"""``discreet similar``: items like an item."""

from __future__ import annotations

import click

from discreet.cli.answers import say_notes, show_recommendations
from discreet.cli.output import json_option, print_json
from discreet.model import Model

__all__ = ["command"]


@click.command("similar")
@click.argument("model_directory", metavar="MODEL")
@click.option("--item", required=True, help="Id of the item to compare with.")
@click.option(
    "-n", "count", type=click.IntRange(min=1), default=10, show_default=True, help="How many items."
)
@json_option
def command(model_directory: str, item: str, count: int, as_json: bool) -> None:
    """Show the items that are most like an item.

    Of a table of weights: how often two items are taken together, over the root of how often each is, with the
    standard deviation that the noise gives it. What does not stand out of the noise is not shown.

    Of factors: the expected correlation of what people think of the two items. It is smaller for items of which little
    is known; such items are marked.

    \b
    Example:
      discreet similar model/ --item item-17 -n 5
    """
    model = Model.load(model_directory)
    found = model.similar(item, count)
    if as_json:
        print_json({"item": item, **found.to_dict()})
        say_notes(found.notes)
    else:
        show_recommendations(found, f"Like {item}", "similarity")
