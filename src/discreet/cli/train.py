"""``discreet train``: from a file of ratings to a released model."""

from __future__ import annotations

import resource
import sys
import time
from typing import Any

import click
from rich.table import Table

from discreet.central.als import ALS
from discreet.central.budgeted import BudgetedALS
from discreet.cli.columns import column_options
from discreet.cli.output import json_option, print_json, printer, progress_bar
from discreet.cli.settings import apply_config, integer_or_auto
from discreet.cli.train_plan import METHODS, plan_training, read_ratings
from discreet.data.ratings import Ratings
from discreet.model import Model
from discreet.model.storage import check_target

__all__ = ["command"]


@click.command("train")
@click.argument("source", metavar="RATINGS")
@column_options
@click.option(
    "--rating-range", nargs=2, type=float, metavar="LO HI", help="Lowest and highest possible rating."
)
@click.option(
    "--implicit",
    is_flag=True,
    help="Say that there are no ratings: a row means that the user chose the item.",
)
@click.option("--catalogue", metavar="FILE", help="Public list of items (CSV, Parquet, NDJSON or text).")
@click.option(
    "--discover-items",
    "discover",
    is_flag=False,
    flag_value="0.1",
    metavar="[SHARE]",
    help="Instead of --catalogue: spend this share of the budget (0.1 if none is given) on finding items.",
)
@click.option("--epsilon", help="Privacy parameter epsilon.")
@click.option("--delta", help="Privacy parameter delta; well below 1 / users.")
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default="budgeted",
    show_default=True,
    help="als is not private.",
)
@click.option(
    "--rank",
    callback=integer_or_auto(0),
    default="auto",
    show_default=True,
    help="Number of factors; 0: offsets alone.",
)
@click.option(
    "--rounds", callback=integer_or_auto(1), default="auto", show_default=True, help="Rounds of training."
)
@click.option(
    "--set", "sets", multiple=True, metavar="KEY=VALUE", help="Another setting of the method; repeatable."
)
@click.option(
    "--config",
    is_eager=True,
    expose_value=False,
    callback=apply_config,
    metavar="FILE",
    help="TOML or JSON with any of these options, and a table 'settings' for --set.",
)
@click.option(
    "--unknown-items",
    type=click.Choice(["error", "drop"]),
    default="error",
    show_default=True,
    help="Ratings of items that the catalogue lacks.",
)
@click.option(
    "--device",
    type=click.Choice(["cpu", "cuda"]),
    default="cpu",
    show_default=True,
    help="Where to compute; this version has kernels for the CPU only.",
)
@click.option("--seed", type=int, help="Seed of the ordinary random stream; never of the privacy noise.")
@click.option("--out", required=True, metavar="DIR", help="Directory to put the model into.")
@click.option("--force", is_flag=True, help="Replace a model that is already there.")
@json_option
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
    result = _summary(fitted, options["method"], ratings, time.perf_counter() - started)
    if as_json:
        print_json(result)
    else:
        _show(result, fitted.model_, out)


def _summary(fitted: BudgetedALS | ALS, method: str, ratings: Ratings, seconds: float) -> dict[str, Any]:
    """The data holder's own summary: the counts are exact, and for that reason not part of the model."""
    statement = fitted.model_.statement
    return {
        "method": method,
        "rank": fitted.model_.item_side.rank,
        "rounds": fitted.rounds_,
        "users": ratings.n_users,
        "items": fitted.model_.item_side.n_items,
        "ratings": ratings.n_ratings,
        "epsilon": statement.epsilon,
        "delta": statement.delta,
        "mu": statement.mu,
        "releases": [{"name": release.name, "mu": release.mu} for release in statement.releases],
        "private": statement.private,
        "seconds": round(seconds, 3),
        "peak_rss_mb": round(peak_rss_mb(), 1),
    }


def peak_rss_mb() -> float:
    """Most memory this process has held, in units of a million bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def _show(result: dict[str, Any], model: Model, out: str) -> None:
    table = Table(title="Trained", title_justify="left", show_header=False)
    for key in ("method", "rank", "rounds", "users", "items", "ratings", "seconds", "peak_rss_mb"):
        value = result[key]
        table.add_row(key.replace("_", " "), f"{value:,}" if isinstance(value, int | float) else str(value))
    console = printer()
    console.print(table)
    console.print(str(model.statement), markup=False)
    console.print(f"Saved to {out}", markup=False)
