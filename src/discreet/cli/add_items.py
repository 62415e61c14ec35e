"""``discreet add-items``: items that a model was not trained on."""

from __future__ import annotations

import click

from discreet.catalogue import TABLE_ERRORS, Catalogue, scan_table
from discreet.cli.output import Output, print_json
from discreet.cli.request import argument, option, takes
from discreet.errors import CatalogueInvalid
from discreet.model import Model
from discreet.model.storage import check_target

__all__ = ["command"]


class _Asked(Output):
    model: str = argument("MODEL")
    items: str = argument("ITEMS")
    out: str = option("Where to write the model with the new items.", metavar="DIR")
    catalogue_column: str | None = option(
        "Column of the ids, if it is not the only one, nor called item, item_id or id."
    )
    force: bool = option("Replace a model that is already there.")


@takes(_Asked, "add-items")
def command(request: _Asked) -> None:
    """Add items to a MODEL that it was not trained on, from their features, and save it.

    ITEMS is a table (CSV, TSV, Parquet, NDJSON) of the new items alone, with the columns that the model was trained
    with (--features); a column called title gives titles. New items are recommended like others and marked as guesses.
    This costs no privacy budget.

    \b
    Example:
      discreet add-items model/ new-items.csv --out model-with-new/
    """
    check_target(request.out, overwrite=request.force)
    model = Model.load(request.model)
    new = Catalogue.from_file(request.items, request.catalogue_column)
    try:
        table = scan_table(request.items)[2].head(len(new)).collect()  # blank lines at the end are no items
    except TABLE_ERRORS as error:
        raise CatalogueInvalid(f"the items {request.items} cannot be read: {error}") from error
    longer = model.with_items(new.ids.tolist(), table, new.titles)
    longer.save(request.out, overwrite=request.force)
    added, items = len(new), len(longer.catalogue)
    if request.as_json:
        print_json({"added": added, "items": items, "out": request.out})
    else:
        click.echo(f"{added:,} items added, {items:,} in all; the model is in {request.out}")
