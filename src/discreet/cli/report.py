"""``discreet report``: one page about a model, for the people who decide about it."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.output import Output, check_file, print_json, spinner
from discreet.cli.request import argument, option, takes
from discreet.cli.rows import WholeRows
from discreet.data.ratings import Ratings
from discreet.errors import SettingsInvalid
from discreet.model import Model
from discreet.model.directory import replace_file
from discreet.reports import make_report, page

__all__ = ["command"]


class _Asked(Output, WholeRows):
    model: Path = argument("MODEL")
    out: Path | None = option("The page.  [default: MODEL.report.html]", metavar="FILE.html")
    ratings: str | None = option("What the users of --test did before: the training file.", metavar="FILE")
    test: str | None = option("Ratings to measure the quality with.", metavar="FILE")
    user: str = option("Column of user ids.", "user")
    item: str = option("Column of item ids.", "item")
    rating: str | None = option(
        "Column of ratings.  [default: rating, for a model that was trained on ratings]"
    )


@takes(_Asked, "report")
def command(request: _Asked) -> None:
    """Write one page about a MODEL: promise, costs, what it knows of which items, neighbours.

    All of it follows from the released model. With --ratings and --test also the quality beside baselines, which is
    computed from ratings without noise: such a page is for you alone. The page needs nothing else and prints well.

    \b
    Examples:
      discreet report model/ --out report.html
      discreet report model/ --ratings ratings.csv --test test.csv --out report.html
    """
    past = held_out = None
    out = request.out or request.model.with_name(f"{request.model.absolute().name}.report.html")
    check_file(out, model=request.model)
    model = Model.load(request.model)
    files = [file for file in (request.ratings, request.test) if file is not None]
    if len(files) == 1:
        missing = "--ratings" if request.ratings is None else "--test"
        raise SettingsInvalid(
            f"quality needs both --ratings (what people did before) and --test; {missing} is missing"
        )
    if files:
        if request.rating is None and model.item_side.scale.explicit:
            request = request.model_copy(update={"rating": "rating"})
        reading = request.reading_for(model)
        past, held_out = (Ratings.from_file(file, **reading) for file in files)
    with spinner("looking at the model"):
        report = make_report(request.model, past, held_out)
        content = page(report).encode()
    kept = report.quality is not None or not model.statement.private
    replace_file(out.absolute(), lambda file: file.write(content), private=kept)
    if request.as_json:
        print_json({"out": str(out), **report.to_dict()})
        return
    click.echo(f"The page is in {out}")
    if report.quality is not None:
        click.echo("It has numbers that no promise covers: keep it to yourself.", err=True)
