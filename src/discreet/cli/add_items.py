"""``discreet add-items``: items that a model was not trained on."""

from __future__ import annotations

from typing import Annotated

import click
import polars as pl

from discreet.catalogue import Catalogue, scan_table
from discreet.cli.output import Output, print_json
from discreet.cli.request import Argument, Option, takes
from discreet.errors import CatalogueInvalid
from discreet.model import Model
from discreet.model.storage import check_target

__all__ = ["AddItems", "command"]


class AddItems(Output):
    """What `add-items` can be asked."""

    model: Annotated[str, Argument("MODEL")]
    items: Annotated[str, Argument("ITEMS")]
    out: Annotated[str, Option("Where to write the model with the new items.", metavar="DIR")]
    id_column: Annotated[
        str | None,
        Option("Column of the ids, if it is not the only one, nor called item, item_id or id.", metavar="C"),
    ] = None
    force: Annotated[bool, Option("Replace a model that is already there.")] = False


@takes(AddItems, "add-items")
def command(request: AddItems) -> None:
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
    new = Catalogue.from_file(request.items, request.id_column)
    longer = model.with_items(new.ids.tolist(), _table(request.items, len(new)), new.titles)
    longer.save(request.out, overwrite=request.force)
    added, items = len(new), len(longer.catalogue)
    if request.as_json:
        print_json({"added": added, "items": items, "out": request.out})
    else:
        click.echo(f"{added:,} items added, {items:,} in all; the model is in {request.out}")


def _table(path: str, rows: int) -> pl.DataFrame:
    """All columns; blank lines at the end are no items."""
    try:
        return scan_table(path)[2].head(rows).collect()
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise CatalogueInvalid(f"the items {path} cannot be read: {error}") from error
