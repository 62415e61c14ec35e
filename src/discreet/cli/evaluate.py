"""``discreet evaluate``: how good is a model on held-out rows."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from discreet.cli.output import Output, check_file, counts, print_json, printer, progress_bar
from discreet.cli.request import argument, option, takes
from discreet.cli.rows import WholeRows
from discreet.cli.where import Place, Reader
from discreet.errors import SettingsInvalid
from discreet.evaluation.protocol import Only, evaluate, no_errors
from discreet.model import Model
from discreet.model.directory import replace_file

__all__ = ["command"]


class _Asked(Output, Reader, WholeRows):
    model: str = argument("MODEL")
    test: str = argument("TEST")
    history: str = option("What the test's users did before.", metavar="TRAIN")
    at: int = option("Length of the lists.", 20, ge=1)
    relevant: float | None = option(
        "Ratings from which rows of TEST should come back.  [default: the upper two fifths of the range; all clicks]"
    )
    only: Only | None = option(
        "Errors of predicted ratings alone, or lists alone.  [default: both, or lists for a model that ranks]"
    )
    per_user: Path | None = option(
        "Write one row a user (.parquet or .csv), readable by you alone.", metavar="FILE"
    )


@takes(_Asked, "evaluate")
def command(request: _Asked) -> None:
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
    model = Model.load(request.model)
    scale, only, out = model.item_side.scale, request.only, request.per_user
    if only == "errors" and model.goal == "rank":
        raise SettingsInvalid(f"--only errors: {no_errors(scale.explicit)}; leave it out")
    if out is not None:
        check_file(out, ".parquet", ".csv", name="--per-user")
    reading = request.reading_for(model)
    with ExitStack() as held, progress_bar() as report:
        place = Place(request, [request.history, request.test], held)
        past = place.read(request.history, "history", model, reading)
        held_out = place.read(request.test, "test", model, reading, past)
        found = evaluate(
            model, held_out, history=past, k=request.at, relevant=request.relevant, only=only, progress=report
        )
    if out is not None:
        write = found.per_user.write_csv if out.suffix.lower() == ".csv" else found.per_user.write_parquet
        replace_file(out, write, private=True)
    if request.as_json:
        content = found.to_dict()
        content["holder"] |= {"history": counts(past), "test": counts(held_out)}
        print_json(content)
    else:
        printer().print(str(found))
    if model.goal == "rank" and scale.explicit and only is None:
        click.echo(f"No errors of predicted ratings: {no_errors(True)}.", err=True)
    for note in found.notes:
        click.echo(note, err=True)
