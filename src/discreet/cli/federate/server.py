"""``discreet federate server`` and ``drop``: the machine that adds up what the silos send."""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import Any, cast

import click

from discreet.cli.federate.options import (
    agreement_option,
    catalogue_option,
    existing_store,
    optional_catalogue_option,
    read_agreed_features,
    read_catalogue,
    store_option,
)
from discreet.cli.federate.output import RoundProgress, show_run
from discreet.cli.federate.status_file import StatusFile
from discreet.cli.output import json_option, print_json, printer
from discreet.errors import Unreachable
from discreet.operations import Log
from discreet.silos.server.server_run import AnyCoordinator, ServerRun, open_coordinator
from discreet.silos.shared.agreements import largest_message, load_agreement
from discreet.silos.shared.seal import SERVER, SigningKey
from discreet.silos.transport.address import listen, url_of
from discreet.silos.transport.identity import SIGNING_KEY, read_signing_key, server_context
from discreet.silos.transport.operations import Operations
from discreet.silos.transport.passes import holder_of
from discreet.silos.transport.server import Server, Terms
from discreet.silos.transport.signals import run_until_stopped
from discreet.silos.transport.signed_run import SignedRun

__all__ = ["drop_command", "finish_command", "server_command"]


@click.command("server")
@agreement_option
@catalogue_option
@store_option
@click.option(
    "--tls",
    required=True,
    metavar="DIR",
    help="Folder with certificate.pem, key.pem and signing.key.",
)
@click.option("--listen", "address", required=True, metavar="HOST:PORT", help="Port 0 takes a free one.")
@click.option(
    "--drop-after",
    type=click.FloatRange(0.0, min_open=True),
    metavar="SECONDS",
    help="Go on without silos that have not answered for so long; never if left out.",
)
@click.option(
    "--linger",
    type=click.FloatRange(0.0),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to go on telling absent silos that the run has finished.",
)
@click.option("--log", is_flag=True, help="Write a log of JSON lines to standard error.")
@click.option(
    "--watch-port",
    type=click.IntRange(0, 65535),
    help="Port of 127.0.0.1 for /metrics, /health/live and /health/ready; none if left out.",
)
@click.option("--out", required=True, metavar="DIR", help="Directory to put the model into.")
@click.option("--force", is_flag=True, help="Replace a model that is already there.")
@json_option
def server_command(
    agreement: str,
    catalogue: str,
    store: str,
    tls: str,
    address: str,
    drop_after: float | None,
    linger: float,
    log: bool,
    watch_port: int | None,
    out: str,
    force: bool,
    as_json: bool,
) -> None:
    """Run the server of an agreement until all silos are done; start it again after any stop.

    It never sees a rating, nor one silo's sums, nor more of a silo than private prototypes where these were
    agreed on. A silo shows a pass that its signing key in the agreement has signed.

    \b
    Example:
      discreet federate server --agreement agreement.json --catalogue items.csv --store run.sqlite \\
          --tls tls/server --listen 0.0.0.0:8443 --out model/
    """
    started = time.perf_counter()
    agreed = load_agreement(agreement)
    context = server_context(Path(tls))
    key = SigningKey(agreed, SERVER, read_signing_key(Path(tls) / SIGNING_KEY))
    run = ServerRun(agreed, read_catalogue(catalogue, agreed), Path(store), out, force=force)
    terms = Terms(
        agreed.run_id,
        agreed.smallest_roster,
        largest_message(agreed),
        drop_after=drop_after,
        linger=linger,
    )
    text = agreed.model_dump_json()
    with listen(address) as listening, RoundProgress() as progress, StatusFile(Path(store)) as said:

        def report(status: dict[str, Any]) -> None:
            said.write(text, status)
            if not log:
                progress.report(status)

        logged = Log("silo server", sys.stderr if log else None)
        if log:  # nothing but JSON lines goes where they go
            logged.say("listening", url=url_of(listening))
        else:
            progress.say(f"Listening on {url_of(listening)}")
        watched = Operations(logged, watch_port)
        server: Server[SignedRun] = Server(
            lambda: SignedRun(run.begin(), agreed, key),
            lambda signed: key.seal("model", run.finish(cast(AnyCoordinator, signed.run))),
            terms,
            context,
            partial(holder_of, agreed),
            report,
            watched,
        )
        run_until_stopped(watched.beside(server.run(listening)))
        run.count_models(server.models_sent, server.model_bytes_sent)
    if run.result is None or run.model is None:
        raise Unreachable("stopped before the run had finished; start the server again and it goes on")
    result = {**run.result, "holder": {"seconds": round(time.perf_counter() - started, 3)}}
    if as_json:
        print_json(result)
    else:
        show_run("Trained in silos", result, run.model, out)


@click.command("drop")
@agreement_option
@optional_catalogue_option
@store_option
@click.option(
    "--silo",
    "silos",
    required=True,
    multiple=True,
    metavar="NAME",
    help="A silo to go on without; repeatable, and cheaper together.",
)
@json_option
def drop_command(
    agreement: str,
    catalogue: str | None,
    store: str,
    silos: tuple[str, ...],
    as_json: bool,
) -> None:
    """Go on without silos that have left: the current round is asked again of the others.

    Stop the server first. The others are charged for the round a second time, once however many silos are dropped
    together, and their statements say so; with prototypes nobody is charged. A silo that was dropped cannot come
    back into this run.

    \b
    Example:
      discreet federate drop --agreement agreement.json --store run.sqlite --silo north --silo east
    """
    agreed = load_agreement(agreement)
    features = read_agreed_features(catalogue, agreed)
    with open_coordinator(agreed, existing_store(store), features) as coordinator:
        coordinator.drop(*silos)
        status = coordinator.status()
    if as_json:
        print_json(status)
    else:
        printer().print(f"Going on with {', '.join(status['roster'])}; start the server again.", markup=False)


@click.command("finish")
@agreement_option
@optional_catalogue_option
@store_option
@json_option
def finish_command(agreement: str, catalogue: str | None, store: str, as_json: bool) -> None:
    """End a run early with what has been released so far, where too few silos are left to go on or it has failed.

    Stop the server first; start it again afterwards to save the model and tell the silos, or save it with 'model'.
    With prototypes the model is made of the messages that have come.

    \b
    Example:
      discreet federate finish --agreement agreement.json --store run.sqlite
    """
    agreed = load_agreement(agreement)
    features = read_agreed_features(catalogue, agreed)
    with open_coordinator(agreed, existing_store(store), features) as coordinator:
        coordinator.finish_early()
        status = coordinator.status()
    if as_json:
        print_json(status)
    else:
        printer().print(f"Ended after {status['round']} rounds; start the server again.", markup=False)
