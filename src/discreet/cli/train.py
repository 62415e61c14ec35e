"""``discreet train``: from a file of ratings to a released model."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

import click
from rich.table import Table

from discreet.cli.engine_options import (
    chosen_engine,
    clear_run,
    engine_options,
    join_cluster,
    leaves_nothing,
    open_checkpoint,
    prepare_ratings,
)
from discreet.cli.holder import counts, peak_rss_mb, say_dropped
from discreet.cli.output import print_json, printer, progress_bar
from discreet.cli.resumable import ResumableCommand, resumed
from discreet.cli.room import check_room
from discreet.cli.train_request import read_ratings, read_reading, read_request
from discreet.cli.train_summary import show, summarise
from discreet.cli.training_options import training_options
from discreet.engines.choice import AnyRatings
from discreet.errors import SettingsInvalid
from discreet.methods.published.private.dpals import DPALS
from discreet.methods.published.public.dpals_noise import Accounting
from discreet.model.storage import check_target
from discreet.privacy.statement_text import round_up
from discreet.silos.shared.saving import save_once

__all__ = ["command"]


@click.command("train", cls=ResumableCommand)
@training_options
@engine_options
@click.option(
    "--discover-items",
    "discover",
    is_flag=False,
    flag_value="0.1",
    metavar="[SHARE]",
    help="Instead of --catalogue: spend this share of the budget (0.1 if none is given) on finding items.",
)
@click.option(
    "--start",
    metavar="MODEL",
    help="An earlier model of the same method and goal, to start from; its catalogue may be another.",
)
@click.option(
    "--start-is-public",
    is_flag=True,
    help="The ratings that --start was trained on are public: nobody pays for it.",
)
@click.option(
    "--device",
    metavar="cpu|cuda",
    default="cpu",
    show_default=True,
    help="Where users' contributions are computed; cuda: a GPU (extra gpu, --method budgeted).",
)
@click.option(
    "--preset", metavar="NAME", help="With --method dpals: a column of its paper's table 4 (ml-10m-eps-1)."
)
@click.option(
    "--accounting",
    type=click.Choice(["owed", "paper"]),
    default="owed",
    show_default=True,
    help="paper: with --method dpals, print what its paper would have claimed beside what is owed.",
)
@click.pass_context
def command(
    ctx: click.Context, /, out: str, force: bool, as_json: bool, accounting: str, **options: Any
) -> None:
    """Train a model on RATINGS (CSV, Parquet or NDJSON) and save it.

    \b
    Examples:
      discreet train ratings.csv --user user --item item --rating stars --rating-range 1 5 \\
          --catalogue items.csv --epsilon 1 --delta 1e-6 --out model/
      discreet train ratings.csv --user user --item item --rating stars --rating-range 1 5 \\
          --catalogue items.csv --features genres,title --epsilon 1 --delta 1e-6 --out model/
      discreet train ratings.csv --user user --item item --rating stars --rating-range 1 5 \\
          --catalogue items.csv --goal rate --epsilon 1 --delta 1e-6 --out model/
      discreet train may.csv --user user --item item --rating stars --rating-range 1 5 \\
          --catalogue items.csv --start april/ --epsilon 0.5 --delta 1e-6 --out may/
      discreet train events/ --user user --item item --catalogue items.csv --engine disk \\
          --ledger people.ledger --epsilon 1 --delta 1e-9 --out model/
      discreet train events/ --user user --item item --catalogue items.csv --engine ray --address head:6379 \\
          --blocks /shared/blocks --ledger people.ledger --epsilon 1 --delta 1e-9 --out model/
      discreet train --resume model.run
      zcat plays.csv.gz | discreet train - --user who --item song --weight plays --graded 100 \\
          --catalogue songs.csv --catalogue-column song --epsilon 1 --delta 1e-6 --out model/
      discreet train plays.parquet --user who --item song --discover-items \\
          --epsilon 5 --delta 1e-7 --out model/
      discreet train ratings.csv --user user --item item --rating stars --rating-range 1 5 \\
          --method als --out baseline/
      discreet train ratings.csv --user user --item item --rating stars --rating-range 1 5 \\
          --catalogue items.csv --epsilon 1 --delta 1e-5 --method dpals --preset ml-10m-eps-1 \\
          --accounting paper --out published/
    """
    started = time.perf_counter()
    check_target(out, overwrite=force or resumed(ctx) is not None)
    request = read_request(ctx, options)
    if accounting == "paper" and not isinstance(request.method, DPALS):
        raise SettingsInvalid(
            "--accounting paper belongs to --method dpals; other methods have no other count"
        )
    engine = chosen_engine(options, private=request.budget is not None)
    cluster = join_cluster(ctx, options, engine)
    reading = read_reading(options)
    check_room(out, reading["catalogue"], options)
    request.say_start(reading["catalogue"])
    kept = open_checkpoint(ctx, options, out, engine, private=request.budget is not None)
    with leaves_nothing(kept), progress_bar() as report:
        run = request.enter(ctx, options, out, reading["catalogue"], kept)
        ratings: AnyRatings
        if engine != "memory" and kept is not None:
            ratings = prepare_ratings(reading, options, kept, report)
        else:
            ratings = read_ratings(options, reading)
        say_dropped(ratings)
        fitted = request.fit(ratings, options["seed"], report, run, kept, options["device"], cluster)
    save_once(fitted.model_, out, overwrite=force)
    counted_rows = counts(ratings, fitted.model_.item_side.n_items)
    del ratings  # blocks on disk are mapped into memory, and Windows does not remove what is
    if kept is not None:
        clear_run(kept)
    result = summarise(fitted)
    counted = fitted.accounting_ if accounting == "paper" and isinstance(fitted, DPALS) else None
    if counted is not None:
        result["accounting"] = asdict(counted)
    result["holder"] = {
        **({"engine": engine} if engine != "memory" else {}),
        **counted_rows,
        "seconds": round(time.perf_counter() - started, 3),
        "peak_rss_mb": peak_rss_mb(),
    }
    if as_json:
        print_json(result)
    else:
        show("Trained", result, fitted.model_, out)
    if counted is not None and not as_json:
        printer().print(_counted(counted))


def _counted(accounting: Accounting) -> Table:
    table = Table(title=f"epsilon of this run's noise at delta {accounting.delta:g}", title_justify="left")
    table.add_column("counted")
    table.add_column("epsilon", justify="right")
    for words, epsilon in (
        ("as theorem 1 of the paper is printed: one Gaussian a round", accounting.theorem_1),
        ("as the paper counts: no gravity, the mean's sensitivity too small", accounting.paper),
        ("owed, with the paper's Rényi conversion", accounting.owed_renyi),
        ("owed, exactly: what the statement carries", accounting.owed),
    ):
        table.add_row(words, round_up(epsilon))
    return table
