"""``discreet train``: from a file of ratings to a released model."""

from __future__ import annotations

import time
from dataclasses import asdict

import click
from rich.table import Table

from discreet import DPALS
from discreet.catalogue import Catalogue
from discreet.cli.engine_options import (
    chosen_engine,
    clear_run,
    join_cluster,
    leaves_nothing,
    open_checkpoint,
    prepare_ratings,
)
from discreet.cli.holder import counts, peak_rss_mb, say_dropped
from discreet.cli.output import print_json, printer, progress_bar
from discreet.cli.request import takes
from discreet.cli.resumable import ResumableCommand, resumed
from discreet.cli.train_summary import show, summarise
from discreet.cli.training import Training, check_room
from discreet.engines.choice import AnyRatings
from discreet.methods.published.public.dpals_noise import Accounting
from discreet.model.storage import check_target
from discreet.privacy.accounting import round_up
from discreet.silos.shared.saving import save_once

__all__ = ["command"]


@takes(Training, "train", cls=ResumableCommand)
def command(request: Training) -> None:
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
    check_target(request.out, overwrite=request.force or resumed(click.get_current_context()) is not None)
    chosen = request.chosen()
    private = chosen.budget is not None
    engine = chosen_engine(request, private=private)
    cluster = join_cluster(request, engine)
    reading = request.file_reading()
    catalogue = reading["catalogue"]
    assert catalogue is None or isinstance(catalogue, Catalogue)
    check_room(request, catalogue)
    chosen.say_start(catalogue)
    kept = open_checkpoint(request, engine, private=private)
    with leaves_nothing(kept), progress_bar() as report:
        run = chosen.reserve(request, catalogue, kept)
        ratings: AnyRatings
        if engine != "memory" and kept is not None:
            ratings = prepare_ratings(reading, request, kept, report)
        else:
            ratings = request.read(reading)
        say_dropped(ratings)
        fitted = chosen.fit(ratings, request, report, run, kept, cluster)
    save_once(fitted.model_, request.out, overwrite=request.force)
    counted_rows = counts(ratings, fitted.model_.item_side.n_items)
    del ratings  # blocks on disk are mapped into memory, and Windows does not remove what is
    if kept is not None:
        clear_run(kept)
    result = summarise(fitted)
    counted = fitted.accounting_ if request.accounting == "paper" and isinstance(fitted, DPALS) else None
    if counted is not None:
        result["accounting"] = asdict(counted)
    result["holder"] = {
        **({"engine": engine} if engine != "memory" else {}),
        **counted_rows,
        "seconds": round(time.perf_counter() - started, 3),
        "peak_rss_mb": peak_rss_mb(),
    }
    if request.as_json:
        print_json(result)
        return
    show("Trained", result, fitted.model_, request.out)
    if counted is not None:
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
