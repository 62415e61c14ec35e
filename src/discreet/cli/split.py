"""``discreet split``: rows to train on and rows to test on, as files of the same columns."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
import polars as pl

from discreet.catalogue import scan_table
from discreet.catalogue.names import no_column
from discreet.cli.columns import read_separator
from discreet.cli.output import json_option, print_json, printer
from discreet.data.readers import TextFormat, readable
from discreet.data.times import read_moments
from discreet.errors import RatingsInvalid, SettingsInvalid
from discreet.model.directory import replace_file
from discreet.private_files import private_folder

__all__ = ["command"]

_ROW = "row of the table"


@click.command("split")
@click.argument("source", metavar="RATINGS")
@click.option("--user", required=True, help="Column of user ids.")
@click.option(
    "--by",
    type=click.Choice(["rating", "user", "time", "last"]),
    default="rating",
    show_default=True,
    help="What is held back: any ratings, whole users, the latest ratings, or each user's last one.",
)
@click.option("--time", "time_column", help="Column of times; for time and last.")
@click.option(
    "--time-format",
    metavar="FORMAT",
    help="How times are written, such as %d.%m.%Y.  [default: numbers, or ISO 8601]",
)
@click.option(
    "--test",
    "share",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    default=0.1,
    show_default=True,
    help="Share of the ratings, or of the users, that is held back.",
)
@click.option(
    "--separator",
    metavar="TEXT",
    callback=read_separator,
    help="Between columns of RATINGS.  [default: found in the first line]",
)
@click.option("--encoding", metavar="NAME", help="Of RATINGS: latin-1, cp1252, utf-16.  [default: utf-8]")
@click.option("--seed", type=click.IntRange(min=0), help="Of what is held back at random.")
@click.option("--out", required=True, metavar="DIR", help="Folder for train.csv and test.csv.")
@click.option("--force", is_flag=True, help="Replace files that are already there.")
@json_option
def command(
    source: str,
    user: str,
    by: str,
    time_column: str | None,
    time_format: str | None,
    share: float,
    separator: str | None,
    encoding: str | None,
    seed: int | None,
    out: str,
    force: bool,
    as_json: bool,
) -> None:
    """Split RATINGS into train.csv and test.csv, with all columns as they are.

    "rating" holds back ratings at random, "time" the latest of all, "last" the last one of every user who has at least
    two. "user" holds back whole users: train.csv has the others, test.csv a fifth of what the held-back users rated (at
    least one rating of everybody who has two), and history.csv the rest of it.

    \b
    Example:
      discreet split ratings.csv --user user --by last --time timestamp --out parts/
      discreet evaluate model parts/test.csv --history parts/train.csv --user user --item item --rating rating
    """
    if by in ("time", "last") and time_column is None:
        raise SettingsInvalid(f"--by {by} needs --time: name the column that says when")
    if by in ("rating", "user") and time_column is not None:
        raise SettingsInvalid(f"--by {by} has no use for --time; leave it out")
    if time_format is not None and time_column is None:
        raise SettingsInvalid("--time-format says how the column of --time is written, which is missing")
    frame = _read(source, user, time_column, TextFormat(separator, encoding))
    moments = None if time_column is None else read_moments(frame[time_column], time_format)
    rng = np.random.default_rng(seed)
    parts = (
        _users(frame, user, share, rng)
        if by == "user"
        else _two(frame, _held_back(frame, by, user, moments, share, rng))
    )
    folder = Path(out)
    there = [name for name in parts if (folder / name).exists()]
    if there and not force:
        raise SettingsInvalid(f"{folder / there[0]} exists; choose another folder, or --force to replace it")
    for name, part in parts.items():
        if part.is_empty():
            raise RatingsInvalid(f"{name} would be empty; change --test, or give more ratings")
    private_folder(folder)
    for name, part in parts.items():
        replace_file(folder / name, part.write_csv, private=True)
    if as_json:
        print_json({"out": out, "files": {name: part.height for name, part in parts.items()}})
    else:
        for name, part in parts.items():
            printer().print(f"{folder / name}: {part.height:,} rows")


def _read(source: str, user: str, time_column: str | None, text: TextFormat) -> pl.DataFrame:
    text.check()
    with readable(source):
        names, _, table, _ = scan_table(source, None, text.separator, text.encoding, private=())
        for name in (user, *([] if time_column is None else [time_column])):
            if name not in names:
                raise RatingsInvalid(no_column(name, names))
        frame = table.collect()
    if frame.is_empty():
        raise RatingsInvalid(f"{source} has no rows")
    return frame


def _held_back(
    frame: pl.DataFrame, by: str, user: str, moments: pl.Series | None, share: float, rng: np.random.Generator
) -> pl.Series:
    """Which rows go into the test."""
    rows = frame.height
    if by == "rating":
        return pl.Series(rng.permutation(rows) < round(share * rows))
    assert moments is not None
    order = pl.DataFrame({"user": frame[user], "time": moments}).with_row_index(_ROW)
    late = order.sort("time", _ROW, nulls_last=False)
    if by == "time":
        chosen = late[_ROW][rows - round(share * rows) :]
    else:
        chosen = (
            late.group_by("user", maintain_order=True)
            .agg(pl.col(_ROW).last(), pl.len().alias("count"))
            .filter(pl.col("count") > 1)[_ROW]
        )
    mask = np.zeros(rows, dtype=bool)
    mask[chosen.to_numpy()] = True
    return pl.Series(mask)


def _two(frame: pl.DataFrame, held_back: pl.Series) -> dict[str, pl.DataFrame]:
    return {"train.csv": frame.filter(~held_back), "test.csv": frame.filter(held_back)}


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
