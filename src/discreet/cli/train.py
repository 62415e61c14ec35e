"""``discreet train``: from a file of ratings to a released model."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.catalogue import Catalogue
from discreet.cli.output import (
    ReportProgress,
    counts,
    peak_rss_mb,
    print_json,
    printer,
    progress_bar,
    say_dropped,
    show_holder,
    show_table,
)
from discreet.cli.request import takes
from discreet.cli.resumable import ResumableCommand, resumed
from discreet.cli.settings import refuse_ledger
from discreet.cli.training import Asked, Training
from discreet.cli.where import (
    chosen_engine,
    clear_run,
    join_cluster,
    leaves_nothing,
    on_disk,
    open_checkpoint,
)
from discreet.data.ratings import Ratings
from discreet.engines.choice import AnyRatings
from discreet.errors import ModelInvalid
from discreet.methods.method import PrivateMethod, carried_by
from discreet.model import Model
from discreet.model.item_weights import ItemWeights
from discreet.model.saving import save_once
from discreet.model.storage import check_target

if TYPE_CHECKING:
    from discreet.methods.checkpoint import Checkpoint
    from discreet.privacy.account.ledger_file import LedgerRun

__all__ = ["command"]

# What a model may take: factors in 64 bits of a rank that methods choose themselves up to here, with what is known of
# each item beside them, and ids and titles of some length.
_RANK, _PER_FACTOR, _PER_ITEM, _ALWAYS = 64, 16, 400, 1 << 20


@takes(Training, "train", cls=ResumableCommand)
def command(request: Training) -> None:
    """Train a model on RATINGS (CSV, Parquet or NDJSON) and save it.

    \b
    Examples:
      discreet train ratings.csv --user user --item item --rating stars --rating-range 1 5 \\
          --catalogue items.csv --features genres,title --epsilon 1 --delta 1e-6 --out model/
      discreet train ratings.csv --user user --item item --rating stars --rating-range 1 5 \\
          --catalogue items.csv --goal rate --epsilon 1 --delta 1e-6 --out model/
      discreet train may.csv --user user --item item --catalogue items.csv --start april/ \\
          --ledger people.ledger --epsilon 0.5 --delta 1e-6 --out may/
      discreet train events/ --user user --item item --catalogue items.csv --engine ray --address head:6379 \\
          --blocks /shared/blocks --epsilon 1 --delta 1e-9 --out model/
      discreet train --resume model.run
      zcat plays.csv.gz | discreet train - --user who --item song \\
          --discover-items --epsilon 5 --delta 1e-7 --out model/
      discreet train ratings.csv --user user --item item --rating stars --rating-range 1 5 \\
          --method als --out baseline/
    """
    started = time.perf_counter()
    check_target(request.out, overwrite=request.force or resumed(click.get_current_context()) is not None)
    asked = request.chosen()
    private = asked.budget is not None
    engine = chosen_engine(request, private=private)
    cluster = join_cluster(request, engine)
    reading = request.reading()
    catalogue = reading["catalogue"]
    assert catalogue is None or isinstance(catalogue, Catalogue)
    _check_space(request, catalogue)
    _say_start(asked.start, catalogue)
    kept = open_checkpoint(request, engine, private=private)
    with leaves_nothing(kept), progress_bar() as report:
        run = _reserve(asked, request, catalogue, kept)
        ratings: AnyRatings
        if engine == "memory" or kept is None:
            ratings = Ratings.from_file(request.source, **reading)
        else:
            folder = Path(request.blocks or kept.folder / "blocks")
            ratings = on_disk(request.source, folder, reading, progress=report)
        say_dropped(ratings)
        fitted = _fit(asked, ratings, request, report, ledger=run, checkpoint=kept, engine=cluster)
    save_once(fitted.model_, request.out, overwrite=request.force)
    counted = counts(ratings, fitted.model_.item_side.n_items)
    del ratings  # blocks on disk are mapped into memory, and Windows does not remove what is
    if kept is not None:
        clear_run(kept)
    result = _summarise(fitted.model_, fitted.rounds_)
    result["holder"] = {
        **({"engine": engine} if engine != "memory" else {}),
        **counted,
        "seconds": round(time.perf_counter() - started, 3),
        "peak_rss_mb": peak_rss_mb(),
    }
    if request.as_json:
        print_json(result)
    else:
        _show(result, fitted.model_, request.out)


def _check_space(request: Training, catalogue: Catalogue | None) -> None:
    """Refuse a folder that cannot be written to, and a disk that is too full, before a budget is spent."""
    folder = Path(request.out).absolute().parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ModelInvalid(
            f"{folder} cannot be written to: {error.strerror}; choose another --out. Nothing was spent"
        ) from error
    rank = request.rank if isinstance(request.rank, int) else _RANK
    needed = _ALWAYS + (0 if catalogue is None else len(catalogue)) * (rank * _PER_FACTOR + _PER_ITEM)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ModelInvalid(
            f"{folder} has {free / 1e6:.0f} MB left, and the model may take {needed / 1e6:.0f} MB; make room, or "
            "choose another --out. Nothing was spent"
        )


def _say_start(start: Model | None, catalogue: Catalogue | None) -> None:
    """Say on stderr where the model to start from is about other items: public facts alone."""
    if start is None or catalogue is None:
        return
    known = int((start.catalogue.index(catalogue.ids) >= 0).sum())
    if 2 * known < len(catalogue):
        of = f"{known:,} of the {len(catalogue):,} items of the catalogue"
        click.echo(f"--start knows {of}; others start from nothing.", err=True)


def _reserve(
    asked: Asked, request: Training, catalogue: Catalogue | None, kept: Checkpoint | None
) -> LedgerRun | None:
    """Reserve the budget in the ledger, where there is one: before any rating is read."""
    ctx, (method, budget, start) = click.get_current_context(), asked
    if not isinstance(method, PrivateMethod) or budget is None:
        refuse_ledger(ctx, f"--method {method.method_name()}, which spends no budget,")
        return None
    ledger, discovers = request.given_ledger(), request.catalogue is None
    if ledger is None or (method.method_name() == "user-mean" and not discovers):
        return None
    run = ledger.begin(
        budget,
        method.price(budget, discovers=discovers),
        method=method.public_half.name,
        adaptive=method.public_half.adaptive,
        model=Path(request.out).name or None,
        run=None if kept is None else kept.ledger_run,
        carried=carried_by(catalogue, start, start_is_public=request.start_is_public),
    )
    return ctx.with_resource(run)


def _fit(asked: Asked, ratings: AnyRatings, request: Training, report: ReportProgress, **charged: Any) -> Any:
    """Train; ``charged``: what goes with a budget."""
    method = asked.method
    always: dict[str, Any] = {"rng": request.seed, "progress": report}
    if not isinstance(method, PrivateMethod):
        assert isinstance(ratings, Ratings)
        return method.fit(ratings, **always)
    fit: Any = method.fit  # of one that releases nothing without a budget too
    return fit(
        ratings,
        asked.budget,
        start=asked.start,
        start_is_public=request.start_is_public,
        device=request.device,
        **always,
        **charged,
    )


def _summarise(model: Model, rounds: int) -> dict[str, Any]:
    """What may be told with the model: it follows from the model and its statement."""
    statement, side = model.statement, model.item_side
    told: dict[str, Any] = {
        "method": model.method,
        "goal": model.goal,
        "rank": side.rank,
        **({"head": int(side.known.sum())} if isinstance(side, ItemWeights) else {}),
        "rounds": rounds,
        "epsilon": statement.epsilon,
        "delta": statement.delta,
        "mu": statement.mu,
        "releases": [{"name": release.name, "mu": release.mu} for release in statement.releases],
        "private": statement.private,
    }
    if statement.earlier_runs:
        told["this_run"] = None if statement.this_run is None else statement.this_run.model_dump(mode="json")
        told["earlier_runs"] = [run.model_dump(mode="json") for run in statement.earlier_runs]
    if statement.earlier is not None:
        told["ledger"] = statement.earlier.model_dump(mode="json")
    return told


def _show(result: dict[str, Any], model: Model, out: str) -> None:
    """The summary as a table, the model's statement, where the model is, and apart what is the holder's own."""
    # A table of weights has no rank, and always takes two sums.
    told = ("method", "goal", "head") if "head" in result else ("method", "goal", "rank", "rounds")
    show_table([(key, result[key]) for key in told], title="Trained")
    for line in (*model.notes, model.statement, f"Saved to {out}"):
        printer().print(str(line))
    show_holder(result["holder"])
