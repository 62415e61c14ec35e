"""``discreet report``: one page about a model, for the people who decide about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli.model_ratings import read_ratings_for
from discreet.cli.output import json_option, print_json, spinner
from discreet.cli.row_options import row_options
from discreet.errors import SettingsInvalid
from discreet.model import Model
from discreet.model.directory import replace_file
from discreet.reports import make_report, page

__all__ = ["command"]


@click.command("report")
@click.argument("model_directory", metavar="MODEL", type=click.Path(path_type=Path))
@click.option(
    "--out",
    metavar="FILE.html",
    type=click.Path(path_type=Path),
    help="The page.  [default: MODEL.report.html]",
)
@click.option(
    "--ratings", "history", metavar="FILE", help="What the users of --test did before: the training file."
)
@click.option("--test", metavar="FILE", help="Ratings to measure the quality with.")
@click.option("--user", default="user", show_default=True, help="Column of user ids.")
@click.option("--item", default="item", show_default=True, help="Column of item ids.")
@click.option(
    "--rating", help="Column of ratings.  [default: rating, for a model that was trained on ratings]"
)
@row_options("error")
@json_option
def command(
    model_directory: Path,
    out: Path | None,
    history: str | None,
    test: str | None,
    as_json: bool,
    **columns: Any,
) -> None:
    """Write one page about a MODEL: promise, costs, what it knows of which items, neighbours.

    All of it follows from the released model. With --ratings and --test also the quality beside baselines, which is
    computed from ratings without noise: such a page is for you alone. The page needs nothing else and prints well.

    \b
    Examples:
      discreet report model/ --out report.html
      discreet report model/ --ratings ratings.csv --test test.csv --out report.html
    """
    if (history is None) != (test is None):
        missing = "--ratings" if history is None else "--test"
        raise SettingsInvalid(
            f"quality needs both --ratings (what people did before) and --test; {missing} is missing"
        )
    place = _place(out, model_directory)
    past = held_out = None
    if history is not None and test is not None:
        model = Model.load(model_directory)
        if columns["rating"] is None and model.item_side.scale.explicit:
            columns["rating"] = "rating"
        past, held_out = (read_ratings_for(model, path, columns) for path in (history, test))
    with spinner("looking at the model"):
        report = make_report(model_directory, past, held_out)
        content = page(report).encode()
    kept = report.quality is not None or not Model.load(model_directory).statement.private
    replace_file(place.absolute(), lambda file: file.write(content), private=kept)
    if as_json:
        print_json({"out": str(place), **report.to_dict()})
    else:
        click.echo(f"The page is in {place}")
        if report.quality is not None:
            click.echo("It has numbers that no promise covers: keep it to yourself.", err=True)


def _place(out: Path | None, model: Path) -> Path:
    """A file outside the model: a folder with a file too many is no model any more."""
    place = model.with_name(f"{model.absolute().name}.report.html") if out is None else out
    if not place.absolute().parent.is_dir():
        raise SettingsInvalid(f"{place.absolute().parent} is not a directory; create it first")
    if place.is_dir():
        raise SettingsInvalid(f"{place} is a directory; give the name of a file")
    if place.absolute().parent.resolve() == model.resolve():
        raise SettingsInvalid(f"{place} lies in the model's own folder, which must hold the model alone")
    return place
