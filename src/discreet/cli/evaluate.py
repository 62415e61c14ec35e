"""``discreet evaluate`` and ``split``: how good is a model on held-out rows, and which rows are held out."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import click
import numpy as np
import polars as pl

from discreet.catalogue import scan_table
from discreet.catalogue.columns import TextFormat, no_column
from discreet.cli.options import TextFile, WholeRows
from discreet.cli.output import (
    Answer,
    Output,
    Replaces,
    check_file,
    check_folder,
    counts,
    progress_bar,
    written,
)
from discreet.cli.request import argument, option, takes
from discreet.cli.where import Place, Reader
from discreet.data.readers import readable
from discreet.data.splits import read_moments
from discreet.errors import RatingsInvalid, SettingsInvalid
from discreet.evaluation.protocol import Only, no_errors
from discreet.evaluation.protocol import evaluate as evaluate_model
from discreet.model import Model
from discreet.model.directory import replace_file
from discreet.private_files import private_folder

__all__ = ["evaluate", "split"]

_ROW = "row of the table"


class _Evaluate(Output, Reader, WholeRows):
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


@takes(_Evaluate, "evaluate")
def evaluate(request: _Evaluate) -> Answer:
    """Liked rows of TEST should be among the first, disliked ones should not (disliked@20, auc). Beside each number
    stand its 95 % interval over users and what popularity in TRAIN reaches. A model that ranks predicts no ratings,
    so it has no rmse. All numbers depend on TEST and TRAIN without any noise: keep them to yourself.

    Tables that do not fit into memory are grouped by user on disk first. TRAIN may be the folder that train --blocks
    kept, if rows are to be read as they were there.

    \b
    Examples:
      discreet evaluate model/ test.csv --history train.csv --user user --item item --rating stars
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
        found = evaluate_model(
            model, held_out, history=past, k=request.at, relevant=request.relevant, only=only, progress=report
        )
    if out is not None:
        write = found.per_user.write_csv if out.suffix.lower() == ".csv" else found.per_user.write_parquet
        replace_file(out, write, private=True)
    if model.goal == "rank" and scale.explicit and only is None:
        click.echo(f"No errors of predicted ratings: {no_errors(True)}.", err=True)
    for note in found.notes:
        click.echo(note, err=True)
    content = found.to_dict()
    content["holder"] |= {"history": counts(past), "test": counts(held_out)}
    return Answer(content, str(found))


class _Split(Output, Replaces, TextFile):
    source: str = argument("RATINGS")
    user: str = option("Column of user ids.")
    out: str = option("Folder for train.csv and test.csv.", metavar="DIR")
    by: Literal["rating", "user", "time", "last"] = option(
        "What is held back: any ratings, whole users, the latest ratings, or each user's last one.", "rating"
    )
    time: str | None = option("Column of times; for time and last.")
    time_format: str | None = option(
        "How times are written, such as %d.%m.%Y.  [default: numbers, or ISO 8601]",
        metavar="FORMAT",
        about="time",
    )
    share: float = option(
        "Share of the ratings, or of the users, that is held back.", 0.1, name="--test", gt=0.0, lt=1.0
    )
    seed: int | None = option("Of what is held back at random.", ge=0)


@takes(_Split, "split")
def split(request: _Split) -> Answer:
    """With --by rating, ratings at random are held back; with time, the latest of all; with last, the last one of every
    user who has at least two. --by user holds back whole users: train.csv has the others, test.csv a fifth of what the
    held-back users rated (at least one rating of everybody who has two), and history.csv the rest of it.

    \b
    Example:
      discreet split ratings.csv --user user --by last --time timestamp --out parts/
    """
    if request.by in ("time", "last") and request.time is None:
        raise SettingsInvalid(f"--by {request.by} needs --time: name the column that says when")
    if request.by in ("rating", "user") and request.time is not None:
        raise SettingsInvalid(f"--by {request.by} has no use for --time; leave it out")
    frame = _read(request)
    moments = None if request.time is None else read_moments(frame[request.time], request.time_format)
    rng = np.random.default_rng(request.seed)
    if request.by == "user":
        parts = _users(frame, request.user, request.share, rng)
    else:
        held_back = _held_back(frame, request, moments, rng)
        parts = {"train.csv": frame.filter(~held_back), "test.csv": frame.filter(held_back)}
    folder = check_folder(request.out, parts, force=request.force)
    for name, part in parts.items():
        if part.is_empty():
            raise RatingsInvalid(f"{name} would be empty; change --test, or give more ratings")
    private_folder(folder)
    for name, part in parts.items():
        replace_file(folder / name, part.write_csv, private=True)
    return written(request.out, parts)


def _read(request: _Split) -> pl.DataFrame:
    text, source = TextFormat(request.separator, request.encoding), request.source
    with readable(source):
        names, _, table, _ = scan_table(source, None, text.separator, text.encoding)
        for name in (request.user, *([] if request.time is None else [request.time])):
            if name not in names:
                raise RatingsInvalid(no_column(name, names))
        frame = table.collect()
    if frame.is_empty():
        raise RatingsInvalid(f"{source} has no rows")
    return frame


def _held_back(
    frame: pl.DataFrame, request: _Split, moments: pl.Series | None, rng: np.random.Generator
) -> pl.Series:
    """Which rows go into the test."""
    rows, kept = frame.height, round(request.share * frame.height)
    if request.by == "rating":
        return pl.Series(rng.permutation(rows) < kept)
    assert moments is not None
    order = pl.DataFrame({"user": frame[request.user], "time": moments}).with_row_index(_ROW)
    late = order.sort("time", _ROW, nulls_last=False)
    if request.by == "time":
        chosen = late[_ROW][rows - kept :]
    else:
        chosen = (
            late.group_by("user", maintain_order=True)
            .agg(pl.col(_ROW).last(), pl.len().alias("count"))
            .filter(pl.col("count") > 1)[_ROW]
        )
    mask = np.zeros(rows, dtype=bool)
    mask[chosen.to_numpy()] = True
    return pl.Series(mask)


def _users(frame: pl.DataFrame, user: str, share: float, rng: np.random.Generator) -> dict[str, pl.DataFrame]:
    known = frame[user].unique(maintain_order=True)
    chosen = known.filter(pl.Series(rng.permutation(len(known)) < round(share * len(known))))
    out = frame.filter(pl.col(user).is_in(chosen.implode()))
    ranked = out.with_columns(pl.Series(_ROW, rng.permutation(out.height)))
    place, count = pl.col(_ROW).rank("ordinal").over(user), pl.len().over(user)
    tested = (place <= pl.max_horizontal(1, count // 5)) & (count > 1)
    return {
        "train.csv": frame.filter(~pl.col(user).is_in(chosen.implode())),
        "history.csv": ranked.filter(~tested).drop(_ROW),
        "test.csv": ranked.filter(tested).drop(_ROW),
    }
