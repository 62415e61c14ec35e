"""``discreet evaluate``: how good is a model on held-out rows."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from discreet import kernels
from discreet.cli.columns import column_options, file_options
from discreet.cli.device_option import device_option
from discreet.cli.holder import counts
from discreet.cli.model_ratings import reading_for
from discreet.cli.output import json_option, print_json, printer, progress_bar
from discreet.cli.place_options import Place, place_options
from discreet.cli.recommendation_file import check_file
from discreet.cli.row_options import row_options
from discreet.data import StoredRatings
from discreet.data.rules import GRADES
from discreet.errors import SettingsInvalid
from discreet.evaluation.protocol import Only, evaluate, no_errors
from discreet.model import Model
from discreet.model.directory import replace_file

__all__ = ["command"]


@click.command("evaluate")
@click.argument("model_directory", metavar="MODEL")
@click.argument("test", metavar="TEST")
@click.option("--history", required=True, metavar="TRAIN", help="What the test's users did before.")
@column_options
@file_options
@click.option("--at", type=click.IntRange(min=1), default=20, show_default=True, help="Length of the lists.")
@click.option(
    "--relevant",
    type=float,
    metavar="R",
    help="Rows of TEST rated R or more should come back. The lower two fifths of the rating range should not.  "
    "[default: the upper two fifths; all clicks]",
)
@row_options("error")
@click.option(
    "--only",
    type=click.Choice(["errors", "rankings"]),
    help="Errors of predicted ratings alone, or lists alone.  [default: both, or lists for a model that ranks]",
)
@click.option(
    "--per-user",
    metavar="FILE",
    help="Write one row a user (.parquet or .csv), readable by you alone.",
)
@place_options
@device_option
@json_option
def command(
    model_directory: str,
    test: str,
    history: str,
    at: int,
    relevant: float | None,
    only: Only | None,
    per_user: str | None,
    engine: str,
    blocks: str | None,
    device: str,
    as_json: bool,
    **columns: Any,
) -> None:
    """Compare the lists and predictions of MODEL with TEST, from each user's own rows in TRAIN.

    Liked rows of TEST should be among the first, disliked ones should not (disliked@20, auc). Beside each number
    stand its 95 % interval over users and what popularity in TRAIN reaches. A model that ranks predicts no ratings,
    so it has no rmse. All numbers depend on TEST and TRAIN without any noise: keep them to yourself.

    Tables that do not fit into memory are grouped by user on disk first. TRAIN may be the folder that train --blocks
    kept, if rows are to be read as they were there.

    \b
    Examples:
      discreet evaluate model/ test.csv --history train.csv --user user --item item --rating stars
      discreet evaluate model/ test.csv --history train.csv --user user --item item --rating stars --relevant 3
      discreet evaluate model/ test.parquet --history blocks/ --user user --item item --per-user users.parquet
    """
    model = Model.load(model_directory)
    scale = model.item_side.scale
    if only == "errors" and model.goal == "rank":
        raise SettingsInvalid(f"--only errors: {no_errors(scale.explicit)}; leave it out")
    out = None if per_user is None else Path(per_user)
    if out is not None:
        check_file(out, "--per-user")
    if relevant is None and scale.range == GRADES and columns["graded"] is not None:
        relevant = GRADES[0]  # somebody who played it little does not dislike it
    reading = reading_for(model, columns)
    with ExitStack() as held, kernels.ranking_on(device), progress_bar() as report:
        place = Place(engine, blocks, [history, test], held)
        past = place.read(history, "history", model, reading)
        alike = past if isinstance(past, StoredRatings) else None
        held_out = place.read(test, "test", model, reading, alike)
        found = evaluate(model, held_out, history=past, k=at, relevant=relevant, only=only, progress=report)
    if out is not None:
        write = found.per_user.write_csv if out.suffix.lower() == ".csv" else found.per_user.write_parquet
        replace_file(out, write, private=True)
    if as_json:
        content = found.to_dict()
        content["holder"] |= {"history": counts(past), "test": counts(held_out)}
        print_json(content)
    else:
        printer().print(str(found))
    if model.goal == "rank" and scale.explicit and only is None:
        click.echo(f"No errors of predicted ratings: {no_errors(True)}.", err=True)
    for note in found.notes:
        click.echo(note, err=True)
