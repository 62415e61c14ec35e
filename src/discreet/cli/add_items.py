"""``discreet add-items``: items that a model was not trained on."""

from __future__ import annotations

import click
import polars as pl

from discreet.catalogue import Catalogue, scan_table
from discreet.cli.output import json_option, print_json
from discreet.errors import CatalogueInvalid
from discreet.model import Model
from discreet.model.storage import check_target

__all__ = ["command"]


@click.command("add-items")
@click.argument("model_directory", metavar="MODEL")
@click.argument("items", metavar="ITEMS")
@click.option("--out", required=True, metavar="DIR", help="Where to write the model with the new items.")
@click.option(
    "--id-column",
    metavar="C",
    help="Column of the ids, if it is not the only one, nor called item, item_id or id.",
)
@click.option("--force", is_flag=True, help="Replace a model that is already there.")
@json_option
def command(
    model_directory: str, items: str, out: str, id_column: str | None, force: bool, as_json: bool
) -> None:
    """Add items to a MODEL that it was not trained on, from their features, and save it.

    ITEMS is a table (CSV, TSV, Parquet, NDJSON) of the new items alone, with the columns that the model was trained
    with (--features); a column called title gives titles. New items are recommended like others and marked as guesses.
    This costs no privacy budget.

    \b
    Example:
      discreet add-items model/ new-items.csv --out model-with-new/
    """
    check_target(out, overwrite=force)
    model = Model.load(model_directory)
    new = Catalogue.from_file(items, id_column)
    longer = model.with_items(new.ids.tolist(), _table(items, len(new)), new.titles)
    longer.save(out, overwrite=force)
    result = {"added": len(new), "items": len(longer.catalogue), "out": out}
    if as_json:
        print_json(result)
    else:
        click.echo(f"{len(new):,} items added, {len(longer.catalogue):,} in all; the model is in {out}")


def _table(path: str, rows: int) -> pl.DataFrame:
    """All columns; blank lines at the end are no items."""
    try:
        return scan_table(path)[2].head(rows).collect()
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise CatalogueInvalid(f"the items {path} cannot be read: {error}") from error
