"""A whole run on one machine: a real server, real silo processes, TLS between them on the loopback interface."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.data.rows import Columns
from discreet.errors import DiscreetError, RatingsInvalid
from discreet.model.directory import replace_file

__all__ = ["AGREEMENT", "Report", "Simulation", "split_by_column", "split_users"]

SERVER = "the server"
LISTENING = "Listening on "
AGREEMENT = "agreement.json"
LOG, OUTPUT = "log.txt", "output.json"
Report = Callable[[str], None]
_OPTION_OF = {"duplicates": "repeats"}
"""What the command line calls a rule."""

_LOOK_SECONDS = 0.1
_END_SECONDS = 10.0


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


def _account(result: dict[str, Any]) -> dict[str, float]:
    """What a silo says it has spent."""
    return {key: result[key] for key in ("charged_mu", "epsilon_spent", "messages") if key in result}


@dataclass(frozen=True)
class _Party:
    """A process, and where what it prints goes."""

    process: subprocess.Popen[bytes]
    folder: Path

    def failure(self) -> str | None:
        """How it failed, or ``None`` if it has not."""
        if self.process.poll() in (None, 0):
            return None
        return f"exit code {self.process.returncode}, {self._last_line() or 'without a word'}"

    def result(self) -> dict[str, Any]:
        """The JSON object it printed."""
        content: dict[str, Any] = json.loads((self.folder / OUTPUT).read_bytes())
        return content

    def _last_line(self) -> str:
        lines = (self.folder / LOG).read_text(encoding="utf-8", errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


@dataclass
class Simulation:
    """One run and its processes.

    Parameters
    ----------
    folder
        Temporary; holds the agreement and the test authority (``tls``), and gets ratings and stores.
    catalogue
        File of the public items.
    columns, rules
        What the columns of the silos' rows are, and what becomes of rows that cannot be used, as options of a silo.
    report
        Called with each line the server writes about its progress.
    """

    folder: Path
    catalogue: Path
    columns: Columns
    rules: Mapping[str, str] = field(default_factory=dict)
    report: Report = lambda line: None
    _parties: dict[str, _Party] = field(default_factory=dict)

    def run(self, silos: Mapping[str, pl.DataFrame], out: Path, *, force: bool) -> dict[str, Any]:
        """Train on every silo's rows; what the server says about the run, and each silo's own account."""
        try:
            self._start_server(out, force=force)
            url = self._address()
            for name, rows in silos.items():
                self._start_silo(name, rows, url)
            self._wait()
            return {
                **self._parties[SERVER].result(),
                "accounts": {name: _account(self._parties[name].result()) for name in silos},
            }
        finally:
            self._end()

    def _start_server(self, out: Path, *, force: bool) -> None:
        place = self.folder / "tls" / "server"
        arguments = ["--store", place / "run.sqlite", "--tls", place, "--listen", "127.0.0.1:0"]
        self._start(SERVER, place, ["server", *arguments, "--out", out, *(["--force"] if force else [])])

    def _start_silo(self, name: str, rows: pl.DataFrame, url: str) -> None:
        place = self.folder / "tls" / "silos" / name
        replace_file(place / "ratings.parquet", rows.write_parquet, private=True)
        arguments: list[object] = ["--name", name, "--ratings", place / "ratings.parquet"]
        arguments += ["--user", self.columns.user, "--item", self.columns.item]
        arguments += [] if self.columns.rating is None else ["--rating", self.columns.rating]
        arguments += [
            part
            for name_, rule in self.rules.items()
            if rule is not None
            for part in (f"--{_OPTION_OF.get(name_, name_).replace('_', '-')}", rule)
        ]
        self._start(
            name,
            place,
            ["silo", *arguments, "--store", place / "silo.sqlite", "--tls", place, "--server", url],
        )

    def _start(self, name: str, folder: Path, arguments: Sequence[object]) -> None:
        common = ["--agreement", self.folder / AGREEMENT, "--catalogue", self.catalogue, "--json"]
        command = [sys.executable, "-m", "discreet", "federate", *map(str, [*arguments, *common])]
        with (folder / OUTPUT).open("wb") as output, (folder / LOG).open("wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=log)
        self._parties[name] = _Party(process, folder)

    def _address(self) -> str:
        """Wait until the server listens."""
        for line in self._lines():
            if line.startswith(LISTENING):
                return line.removeprefix(LISTENING)
        raise DiscreetError("the server ended before it listened")

    def _wait(self) -> None:
        """Pass on the server's progress until every process has ended."""
        for line in self._lines():
            self.report(line)

    def _lines(self) -> Iterator[str]:
        """What the server writes, until all have ended; an error as soon as one has failed."""
        with (self._parties[SERVER].folder / LOG).open(encoding="utf-8") as log:
            rest = ""
            while True:
                running = any(party.process.poll() is None for party in self._parties.values())
                self._check()
                *whole, rest = (rest + log.read()).split("\n")
                yield from whole
                if not running:
                    return
                time.sleep(_LOOK_SECONDS)

    def _check(self) -> None:
        for name, party in self._parties.items():
            failure = party.failure()
            if failure is not None:
                raise DiscreetError(f"{name} failed: {failure}")

    def _end(self) -> None:
        for party in self._parties.values():
            party.process.terminate()
        for party in self._parties.values():
            try:
                party.process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                party.process.kill()
                party.process.wait()
