"""Rehearsals: ``discreet federate simulate`` (a whole run in this process) and ``plan`` (is it worth it?).

A simulation carries the signed bytes of ``export``, ``answer`` and ``import`` itself; only the network is missing.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.catalogue import Catalogue, Goal, scan_table
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
    Output,
    counts,
    printer,
    progress_bar,
    show_holder,
    show_table,
)
from discreet.cli.request import argument, option, takes
from discreet.data.ratings import Ratings
from discreet.data.readers import check_lines, readable, without_types
from discreet.errors import RatingsInvalid, Refused, SettingsInvalid
from discreet.model import Model
from discreet.model.folder import save_once
from discreet.model.storage import check_target
from discreet.privacy.budget import Budget
from discreet.silos.plan import NEWCOMERS, Federation, Row, gains, measure_of, plan
from discreet.silos.shared.agreement import AnyAgreement
from discreet.silos.shared.keys import MASK_KEY, SIGNING_KEY, make_authority, read_signing_key
from discreet.silos.shared.outcome import encode_model
from discreet.silos.shared.signing import SERVER, SigningKey, open_seal

_WORDS = {
    ("free", True): "each user's own mean, free",
    ("popularity", False): "most popular items, not private",
    ("alone", False): "alone, not private",
    ("alone", True): "alone, private",
    ("together", True): "together, private",
}


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


class _Plan(Output):
    silos: int | None = option(
        "How many silos of the same size.  [default: 5, or as many as --users names]", ge=2, le=1000
    )
    users: str = option("Users of a silo, or of each silo.", "1000", metavar="N[,N...]")
    items: int = option("Size of the catalogue.", 2000, ge=10)
    ratings_per_user: int = option("On average.", 30, ge=2)
    goal: Goal = option("To recommend (rank), or to predict ratings (rate).", "rank")
    epsilon: str = option("Privacy parameter epsilon.", "1")
    delta: str = option("Privacy parameter delta.", "1e-6")
    honest: int | None = option("How many silos are honest at least; more than half if left out.", ge=1)
    draws: int = option("Private runs to average, each with fresh noise.", 2, ge=1, le=100)
    seed: int = option("Of the made-up ratings.", 0, ge=0)

    def sizes(self) -> tuple[int, ...]:
        """Users of each silo."""
        try:
            sizes = tuple(int(part) for part in self.users.split(","))
        except ValueError:
            raise SettingsInvalid(
                f"--users takes whole numbers such as 1000 or 8000,2000,500, not {self.users!r}"
            ) from None
        if len(sizes) == 1:
            return sizes * (5 if self.silos is None else self.silos)
        if self.silos not in (None, len(sizes)):
            raise SettingsInvalid(
                f"--users names {len(sizes)} silos and --silos {self.silos}; leave --silos out"
            )
        return sizes


@takes(_Plan, "plan", inside=command)
def _plan(request: _Plan) -> Answer:
    """Compare training alone and together, with and without privacy, on made-up ratings.

    No real rating is read and nothing is spent. A synthetic market of the given size is dealt out to silos; every way
    to train is judged by newcomers who are in no silo. Silos whose users differ from one another gain less from each
    other.

    \b
    Examples:
      discreet federate plan --silos 5 --users 1000
      discreet federate plan --users 8000,2000,500 --goal rate --epsilon 5
    """
    started = time.perf_counter()
    federation = Federation(
        request.sizes(), request.items, request.ratings_per_user, request.goal, request.honest
    )
    budget = Budget.parse(request.epsilon, request.delta)
    with progress_bar() as report:
        rows = plan(federation, budget, draws=request.draws, rng=request.seed, progress=report)
    measure = measure_of(federation.goal)
    content = {
        "silos": len(federation.sizes),
        "sizes": list(federation.sizes),
        "items": federation.items,
        "ratings_per_user": federation.ratings_per_user,
        "goal": federation.goal,
        "measure": measure,
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "honest": federation.agreed,
        "newcomers": NEWCOMERS,
        "draws": request.draws,
        "rows": [{**dict(zip(Row._fields[:-1], row, strict=False)), measure: row.score} for row in rows],
        "worth_joining": gains(federation, rows),
        "seconds": round(time.perf_counter() - started, 3),
    }
    return Answer(content, partial(_show, federation, budget, request.draws, rows))


def _show(federation: Federation, budget: Budget, draws: int, rows: list[Row]) -> None:
    console, measure = printer(), measure_of(federation.goal)
    about = "less is better" if federation.goal == "rate" else "more is better"
    console.print(
        f"Made-up ratings: {len(federation.sizes)} silos, {sum(federation.sizes):,} users, {federation.items:,} items, "
        f"{federation.ratings_per_user} ratings a user. Judged by {NEWCOMERS:,} newcomers; {measure}, {about}; mean of "
        f"{draws} draws of noise at {budget}."
    )
    numbers = ("users", "silos", "honest", measure)
    shown = [
        (
            _WORDS[row.training, row.private],
            *(f"{number:,}" if number else "" for number in (row.users, row.silos, row.honest)),
            "too few users" if row.score is None else f"{row.score:.4f}",
        )
        for row in rows
    ]
    show_table(shown, ("training", *numbers), right=numbers)
    for gain in gains(federation, rows):
        console.print(_verdict(gain))
    console.print(
        "Nothing was read and nothing was spent. Other markets, and silos whose users differ, give other numbers."
    )


def _verdict(gain: dict[str, Any]) -> str:
    parts = []
    for key, words in (
        ("gain_over_alone", "alone without privacy"),
        ("gain_over_alone_private", "alone with privacy"),
    ):
        value = gain[key]
        if value is None:
            parts.append(f"cannot be compared with {words} (the budget is too small for so few users)")
        else:
            parts.append(f"{abs(value):.1f} % {'better' if value >= 0 else 'worse'} than {words}")
    return f"A silo of {gain['users']:,} users: together is {', and '.join(parts)}."
