"""``discreet federate simulate``: a whole run on one machine, with real processes and real connections."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import polars as pl
from rich.console import Console

from discreet.catalogue import scan_table
from discreet.cli.columns import column_options
from discreet.cli.federate.output import show_run
from discreet.cli.federate.terms import agreement_options, make_agreement
from discreet.cli.holder import counts
from discreet.cli.output import json_option, print_json
from discreet.cli.row_options import ROW_OPTIONS, row_options
from discreet.data.ratings import Ratings
from discreet.data.readers import check_lines, without_types
from discreet.data.rows import Columns, check_columns
from discreet.errors import RatingsInvalid, SettingsInvalid
from discreet.model import Model
from discreet.model.storage import check_target
from discreet.silos.transport.authority import make_authority
from discreet.silos.transport.simulate import AGREEMENT, Report, Simulation, split_by_column, split_users

__all__ = ["simulate_command"]


@click.command("simulate")
@click.argument("source", metavar="RATINGS")
@column_options
@click.option("--silo-column", metavar="COLUMN", help="Column that names each row's silo.")
@click.option(
    "--silos", "count", type=click.IntRange(1, 100), help="Or: deal the users out to so many silos."
)
@agreement_options
@row_options("drop")
@click.option("--out", required=True, metavar="DIR", help="Directory to put the model into.")
@click.option("--force", is_flag=True, help="Replace a model that is already there.")
@json_option
@click.pass_context
def simulate_command(
    ctx: click.Context,
    /,
    source: str,
    silo_column: str | None,
    count: int | None,
    out: str,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Train on RATINGS split into silos: a server and one process for each silo on this machine.

    Everything is as in earnest, TLS and noise included, but for the keys: they come from a test authority in a
    temporary folder.

    \b
    Example:
      discreet federate simulate ratings.csv --user user --item item --rating stars --rating-range 1 5 \\
          --catalogue items.csv --silos 3 --honest 2 --epsilon 1 --delta 1e-6 --out model/
      discreet federate simulate ratings.csv --user user --item item --rating stars --rating-range 1 5 \\
          --catalogue items.csv --silos 3 --method prototypes --prototypes 10 --epsilon 1 --out model/
    """
    started = time.perf_counter()
    if (silo_column is None) == (count is None):
        raise SettingsInvalid("say how to split the ratings: either --silo-column COLUMN or --silos N")
    check_target(out, overwrite=force)
    columns = Columns(options["user"], options["item"], options["rating"])
    frame = _read(source, columns, silo_column)
    if silo_column is not None:
        parts = split_by_column(frame, silo_column)
    else:
        assert count is not None
        parts = split_users(frame, columns.user, count, options["seed"])
    with tempfile.TemporaryDirectory(prefix="discreet-") as name, _progress() as report:
        folder = Path(name)
        keys = make_authority(folder / "tls", list(parts))
        agreement = make_agreement(ctx, "simulation", keys, options)
        agreement.save(folder / AGREEMENT)
        rules = {name: options[name] for name in ROW_OPTIONS}
        holder = {}
        if agreement.explicit == (columns.rating is not None):  # silos refuse the rest in words of their own
            # A bad row is named by its place in this file, not in a silo's part of it.
            holder = counts(
                Ratings.from_frame(
                    frame,
                    **columns._asdict(),
                    rating_range=agreement.rating_range,
                    catalogue=options["catalogue"],
                    **rules,
                )
            )
        simulation = Simulation(folder, Path(options["catalogue"]), columns, rules, report)
        result = simulation.run(parts, Path(out), force=force)
    result["holder"] = {**holder, "seconds": round(time.perf_counter() - started, 3)}
    if as_json:
        print_json(result)
    else:
        show_run("Simulated in silos", result, Model.load(out), out)


def _read(source: str, columns: Columns, silo_column: str | None) -> pl.DataFrame:
    extra = [] if silo_column is None else [silo_column]
    try:
        scan = scan_table(source, private=[*columns.names(), *extra])
        names, table = scan.names, scan.table
        check_columns(names, columns)
        if silo_column in columns.names():
            raise RatingsInvalid("user, item, rating and silo must be different columns")
        if not set(extra) <= set(names):
            raise RatingsInvalid(f"there is no column {silo_column!r}; the columns are {', '.join(names)}")
        frame = table.select([*columns.names(), *extra]).collect()
    except (OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise RatingsInvalid(f"{source} cannot be read: {error}") from error
    if scan.typeset:
        check_lines(frame, columns)
    return frame if scan.typed else without_types(frame, columns)


@contextmanager
def _progress() -> Iterator[Report]:
    """Pass the server's words on: as one changing line on a terminal, else line by line."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda line: click.echo(line, err=True)
        return
    with console.status("starting a server and the silos") as status:
        yield status.update
