"""``discreet train``: from a file of ratings to a released model."""

from __future__ import annotations

import time
from typing import Any

import click

from discreet.cli.output import print_json, progress_bar
from discreet.cli.train_plan import plan_training, read_ratings
from discreet.cli.train_summary import show, summarise
from discreet.cli.training_options import training_options
from discreet.model.storage import check_target

__all__ = ["command"]


@click.command("train")
@training_options
@click.option(
    "--discover-items",
    "discover",
    is_flag=False,
    flag_value="0.1",
    metavar="[SHARE]",
    help="Instead of --catalogue: spend this share of the budget (0.1 if none is given) on finding items.",
)
@click.pass_context
def command(ctx: click.Context, /, out: str, force: bool, as_json: bool, **options: Any) -> None:
    """Train a model on RATINGS (CSV, Parquet, NDJSON, or an SQL query) and save it.

    \b
    Examples:
      discreet train ratings.csv --user user --item item --rating stars --rating-range 1 5 \\
          --catalogue items.csv --epsilon 1 --delta 1e-6 --out model/
      discreet train plays.parquet --user who --item song --discover-items \\
          --epsilon 5 --delta 1e-7 --out model/
      discreet train ratings.csv --user user --item item --rating stars --rating-range 1 5 \\
          --method als --out baseline/
    """
    started = time.perf_counter()
    check_target(out, overwrite=force)
    plan = plan_training(ctx, options)
    ratings = read_ratings(options)
    with progress_bar() as report:
        fitted = plan.fit(ratings, options["seed"], report)
    fitted.model_.save(out, overwrite=force)
    result = summarise(fitted, ratings, time.perf_counter() - started)
    if as_json:
        print_json(result)
    else:
        show("Trained", result, fitted.model_, out)
