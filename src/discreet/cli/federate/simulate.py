"""``discreet federate simulate``: a whole run in this process.

It carries the signed bytes of ``export``, ``answer`` and ``import`` itself; only the network is missing.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.catalogue import Catalogue, scan_table
from discreet.catalogue.columns import Columns, check_columns
from discreet.cli.federate import command
from discreet.cli.federate.agree import Terms
from discreet.cli.federate.server import open_run, show_run, summary
from discreet.cli.federate.show import Teller, position
from discreet.cli.federate.silo import check_kind, open_silo
from discreet.cli.options import BadRows
from discreet.cli.options import Columns as ColumnOptions
from discreet.cli.output import (
    Answer,
    NewModel,
    counts,
    show_holder,
)
from discreet.cli.request import argument, option, takes
from discreet.data.ratings import Ratings
from discreet.data.readers import check_lines, readable, without_types
from discreet.errors import RatingsInvalid, Refused, SettingsInvalid
from discreet.model import Model
from discreet.model.folder import save_once
from discreet.model.storage import check_target
from discreet.silos.shared.agreement import AnyAgreement
from discreet.silos.shared.keys import MASK_KEY, SIGNING_KEY, make_authority, read_signing_key
from discreet.silos.shared.outcome import encode_model
from discreet.silos.shared.signing import SERVER, SigningKey, open_seal


class _Simulate(Terms, NewModel, ColumnOptions, BadRows):
    source: str = argument("RATINGS")
    silo_column: str | None = option("Column that names each row's silo.", metavar="COLUMN")
    silos: int | None = option("Or: deal the users out to so many silos.", ge=1, le=100)


@takes(_Simulate, "simulate", inside=command)
def _simulate(request: _Simulate) -> Answer:
    """Train on RATINGS split into silos: a server and all silos in this process.

    Everything is as in earnest, agreement, signatures, masks, stores and noise, but for the network, and for the keys:
    they come from a test authority in a temporary folder.

    \b
    Example:
      discreet federate simulate ratings.csv --user user --item item --rating stars --rating-range 1 5 \\
          --catalogue items.csv --silos 3 --honest 2 --epsilon 1 --delta 1e-6 --out model/
    """
    started = time.perf_counter()
    if (request.silo_column is None) == (request.silos is None):
        raise SettingsInvalid("say how to split the ratings: either --silo-column COLUMN or --silos N")
    check_target(request.out, overwrite=request.force)
    columns = Columns(request.user, request.item, request.rating)
    frame = _read(request.source, columns, request.silo_column)
    if request.silo_column is not None:
        parts = _split_by_column(frame, request.silo_column)
    else:
        parts = _split_users(frame, columns.user, request.silos or 1, request.seed)
    with tempfile.TemporaryDirectory(prefix="discreet-") as name:
        folder = Path(name)
        agreement = request.agreement("simulation", make_authority(folder / "tls", list(parts)))
        check_kind(agreement, request.rating)
        catalogue = Catalogue.from_file(request.catalogue, features=agreement.features)
        reading: dict[str, Any] = {rule: getattr(request, rule) for rule in BadRows.model_fields}
        reading |= {**columns._asdict(), "rating_range": agreement.rating_range, "catalogue": catalogue}
        # A bad row is named by its place in this file, not in a silo's part of it.
        holder = counts(Ratings.from_frame(frame, **reading))
        silos = {silo: Ratings.from_frame(part, **reading) for silo, part in parts.items()}
        model, result = _run(agreement, silos, request.catalogue, folder)
    save_once(model, request.out, overwrite=request.force)
    holder["seconds"] = round(time.perf_counter() - started, 3)

    def show() -> None:
        show_run("Simulated in silos", result, model, request.out)
        show_holder(holder)

    return Answer({**result, "holder": holder}, show)


def _run(
    agreement: AnyAgreement, silos: dict[str, Ratings], catalogue: str, folder: Path
) -> tuple[Model, dict[str, Any]]:
    """The model; and what the server says about the run, and each silo's own account."""

    def key(name: str, place: Path) -> SigningKey:
        return SigningKey(agreement, name, read_signing_key(place / SIGNING_KEY))

    at_server = key(SERVER, folder / "tls" / "server")
    store = folder / "run.sqlite"
    with ExitStack() as held:
        run = open_run(agreement, store, catalogue)
        held.enter_context(run)
        members = []
        for name, ratings in silos.items():
            place = folder / "tls" / "silos" / name
            signing = key(name, place)
            silo = open_silo(place / "silo.sqlite", agreement, ratings, signing, place / MASK_KEY)
            held.enter_context(silo)
            members.append((signing, silo))
        teller = Teller(agreement, str(store))
        while (asked := run.question()) is not None:
            question = at_server.seal("question", asked)
            for signing, silo in members:
                body = open_seal(agreement, question, "question", SERVER).body
                answer = open_seal(agreement, signing.seal("answer", silo.answer(body)), "answer")
                run.receive(answer.sender, answer.body)
                teller.say(position(run.status()))
        if (reason := run.status()["reason"]) is not None:
            raise Refused(f"the run has failed: {reason}")
        model = run.model(Catalogue.from_file(catalogue, features=agreement.features))
        result = summary(run, model)
        accounts = {signing.name: _account(silo.status()) for signing, silo in members}
    sent = len(at_server.seal("model", encode_model(model, agreement))) * len(silos)
    result |= {"bytes_down": result["bytes_down"] + sent, "model_bytes_down": sent}
    if "messages_down" in result:
        result["messages_down"] = len(silos)
    return model, {**result, "accounts": accounts}


def _account(status: dict[str, Any]) -> dict[str, float]:
    """What a silo says it has spent."""
    return {key: status[key] for key in ("charged_mu", "epsilon_spent", "messages") if key in status}


def _split_by_column(frame: pl.DataFrame, column: str) -> dict[str, pl.DataFrame]:
    """The rows of each silo, by its name in a column, which is left out."""
    if frame[column].null_count():
        raise RatingsInvalid(
            f"column {column} names no silo in {frame[column].null_count()} rows; fill or drop them"
        )
    named = frame.with_columns(pl.col(column).cast(pl.String))
    parts = named.partition_by(column, as_dict=True, include_key=False, maintain_order=True)
    return {str(key[0]): part for key, part in sorted(parts.items())}


def _split_users(frame: pl.DataFrame, user: str, silos: int, seed: int | None) -> dict[str, pl.DataFrame]:
    """Every user with all rows in one of ``silos`` silos, at random."""
    users = frame[user].unique(maintain_order=True)
    drawn = np.random.default_rng(seed).integers(silos, size=len(users))
    places = pl.DataFrame({user: users, "": drawn})
    placed = frame.join(places, on=user, how="left", nulls_equal=True, maintain_order="left")[""]
    width = len(str(silos))
    return {f"silo-{k + 1:0{width}}": frame.filter(placed == k) for k in range(silos)}


def _read(source: str, columns: Columns, silo_column: str | None) -> pl.DataFrame:
    extra = [] if silo_column is None else [silo_column]
    with readable(source):
        scan = scan_table(source, columns=[*columns.names(), *extra])
        check_columns(scan.names, columns)
        if silo_column in columns.names():
            raise RatingsInvalid("user, item, rating and silo must be different columns")
        if not set(extra) <= set(scan.names):
            known = ", ".join(scan.names)
            raise RatingsInvalid(f"there is no column {silo_column!r}; the columns are {known}")
        frame = scan.table.select([*columns.names(), *extra]).collect()
    if scan.typeset:
        check_lines(frame, columns)
    return frame if scan.typed else without_types(frame, columns)
