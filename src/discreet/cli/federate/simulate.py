"""``discreet federate simulate``: a whole run on one machine, with real processes and real connections."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import polars as pl

from discreet.catalogue import scan_table
from discreet.cli.federate.output import show_run
from discreet.cli.federate.terms import Terms
from discreet.cli.output import counts, print_json, show_holder
from discreet.cli.request import argument, option, takes
from discreet.cli.rows import BadRows
from discreet.cli.rows import Columns as ColumnOptions
from discreet.data.ratings import Ratings
from discreet.data.readers import check_lines, without_types
from discreet.data.rows import Columns, check_columns
from discreet.errors import DiscreetError, RatingsInvalid, SettingsInvalid
from discreet.model import Model
from discreet.model.directory import replace_file
from discreet.model.storage import check_target
from discreet.silos.shared.keys import make_authority

__all__ = ["simulate_command", "split_by_column", "split_users"]

_SERVER, _LISTENING = "the server", "Listening on "
_END_SECONDS = 10.0


class _Simulate(Terms, ColumnOptions, BadRows):
    """What `simulate` can be asked."""

    source: str = argument("RATINGS")
    silo_column: str | None = option("Column that names each row's silo.", metavar="COLUMN")
    silos: int | None = option("Or: deal the users out to so many silos.", ge=1, le=100)
    out: str = option("Directory to put the model into.", metavar="DIR")
    force: bool = option("Replace a model that is already there.")


@takes(_Simulate, "simulate")
def simulate_command(request: _Simulate) -> None:
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
    if (request.silo_column is None) == (request.silos is None):
        raise SettingsInvalid("say how to split the ratings: either --silo-column COLUMN or --silos N")
    check_target(request.out, overwrite=request.force)
    columns = Columns(request.user, request.item, request.rating)
    frame = _read(request.source, columns, request.silo_column)
    if request.silo_column is not None:
        parts = split_by_column(frame, request.silo_column)
    else:
        parts = split_users(frame, columns.user, request.silos or 1, request.seed)
    with tempfile.TemporaryDirectory(prefix="discreet-") as name:
        folder = Path(name)
        agreement = request.agreement("simulation", make_authority(folder / "tls", list(parts)))
        agreement.save(folder / "agreement.json")
        rules: Any = {rule: getattr(request, rule) for rule in BadRows.model_fields}
        holder: dict[str, Any] = {}
        if agreement.explicit == (columns.rating is not None):  # silos refuse the rest in words of their own
            # A bad row is named by its place in this file, not in a silo's part of it.
            scale, items = agreement.rating_range, request.catalogue
            read = Ratings.from_frame(
                frame, **columns._asdict(), rating_range=scale, catalogue=items, **rules
            )
            holder = counts(read)
        result = _Parties(folder, request, columns, rules).run(parts)
    holder["seconds"] = round(time.perf_counter() - started, 3)
    if request.as_json:
        print_json({**result, "holder": holder})
    else:
        show_run("Simulated in silos", result, Model.load(request.out), request.out)
        show_holder(holder)


def split_by_column(frame: pl.DataFrame, column: str) -> dict[str, pl.DataFrame]:
    """The rows of each silo, by its name in a column, which is left out."""
    if frame[column].null_count():
        raise RatingsInvalid(
            f"column {column} names no silo in {frame[column].null_count()} rows; fill or drop them"
        )
    named = frame.with_columns(pl.col(column).cast(pl.String))
    parts = named.partition_by(column, as_dict=True, include_key=False, maintain_order=True)
    return {str(key[0]): part for key, part in sorted(parts.items())}


def split_users(frame: pl.DataFrame, user: str, silos: int, seed: int | None) -> dict[str, pl.DataFrame]:
    """Every user with all rows in one of ``silos`` silos, at random."""
    users = frame[user].unique(maintain_order=True)
    drawn = np.random.default_rng(seed).integers(silos, size=len(users))
    places = pl.DataFrame({user: users, "": drawn})
    placed = frame.join(places, on=user, how="left", nulls_equal=True, maintain_order="left")[""]
    width = len(str(silos))
    return {f"silo-{k + 1:0{width}}": frame.filter(placed == k) for k in range(silos)}


class _Parties:
    """The processes of one run, in a folder with the agreement and everybody's keys."""

    def __init__(
        self, folder: Path, request: _Simulate, columns: Columns, rules: Mapping[str, object]
    ) -> None:
        self._folder, self._request = folder, request
        self._columns, self._rules = columns, rules
        self._places: dict[str, Path] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def run(self, silos: Mapping[str, pl.DataFrame]) -> dict[str, Any]:
        """Train on every silo's rows; what the server says about the run, and each silo's own account."""
        try:
            self._start_server()
            lines = self._lines()
            url = next(line for line in lines if line.startswith(_LISTENING)).removeprefix(_LISTENING)
            for name, rows in silos.items():
                self._start_silo(name, rows, url)
            for line in lines:
                click.echo(line, err=True)
            accounts = {name: _account(self._printed(name)) for name in silos}
            return {**self._printed(_SERVER), "accounts": accounts}
        finally:
            self._end()

    def _start_server(self) -> None:
        place = self._folder / "tls" / "server"
        arguments = ["--store", place / "run.sqlite", "--tls", place, "--listen", "127.0.0.1:0"]
        force = ["--force"] if self._request.force else []
        self._start(_SERVER, place, ["server", *arguments, "--out", self._request.out, *force])

    def _start_silo(self, name: str, rows: pl.DataFrame, url: str) -> None:
        place = self._folder / "tls" / "silos" / name
        replace_file(place / "ratings.parquet", rows.write_parquet, private=True)
        options = {
            "name": name,
            "ratings": place / "ratings.parquet",
            **self._columns._asdict(),
            **self._rules,
            "store": place / "silo.sqlite",
            "tls": place,
            "server": url,
        }
        options["repeats"] = options.pop("duplicates")
        arguments = [
            part
            for option, value in options.items()
            if value is not None
            for part in (f"--{option.replace('_', '-')}", value)
        ]
        self._start(name, place, ["silo", *arguments])

    def _start(self, name: str, place: Path, arguments: Sequence[object]) -> None:
        common = ["--agreement", self._folder / "agreement.json", "--catalogue", self._request.catalogue]
        command = [sys.executable, "-m", "discreet", "federate", *arguments, *common, "--json"]
        with (place / "output.json").open("wb") as output, (place / "log.txt").open("wb") as log:
            self._processes[name] = subprocess.Popen(
                list(map(str, command)), stdin=subprocess.DEVNULL, stdout=output, stderr=log
            )
        self._places[name] = place

    def _printed(self, name: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self._places[name] / "output.json").read_bytes())
        return content

    def _lines(self) -> Iterator[str]:
        """What the server writes, until all have ended; an error as soon as one has failed."""
        with (self._places[_SERVER] / "log.txt").open(encoding="utf-8") as log:
            rest = ""
            while True:
                running = any(process.poll() is None for process in self._processes.values())
                for name, process in self._processes.items():
                    if process.poll() not in (None, 0):
                        raise DiscreetError(
                            f"{name} failed: exit code {process.returncode}, {self._last(name)}"
                        )
                *whole, rest = (rest + log.read()).split("\n")
                yield from whole
                if not running:
                    return
                time.sleep(0.1)

    def _last(self, name: str) -> str:
        """The last line it wrote."""
        lines = (self._places[name] / "log.txt").read_text(encoding="utf-8", errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "without a word")

    def _end(self) -> None:
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _account(result: dict[str, Any]) -> dict[str, float]:
    """What a silo says it has spent."""
    return {key: result[key] for key in ("charged_mu", "epsilon_spent", "messages") if key in result}


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
