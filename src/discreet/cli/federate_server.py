"""``discreet federate server`` and ``drop``: the machine that adds up what the silos send."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import click

from discreet.cli.federate_options import agreement_option, catalogue_option, read_catalogue, store_option
from discreet.cli.federate_output import RoundProgress, show_run, summarise_run
from discreet.cli.output import json_option, print_json, printer
from discreet.errors import Unreachable
from discreet.federated.agreement import Agreement
from discreet.federated.coordinator import Coordinator
from discreet.federated.messages import max_bytes
from discreet.federated.transport.hosting import check_out, listen, run_until_stopped, save_once
from discreet.federated.transport.identity import server_context
from discreet.federated.transport.last_word import encode_model
from discreet.federated.transport.server import Server, Terms
from discreet.model import Model

__all__ = ["drop_command", "finish_command", "server_command"]


@click.command("server")
@agreement_option
@catalogue_option
@store_option
@click.option(
    "--tls", required=True, metavar="DIR", help="Folder with authority.pem, certificate.pem, key.pem."
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
    out: str,
    force: bool,
    as_json: bool,
) -> None:
    """Run the server of an agreement until the model is trained; start it again after any stop.

    It never sees a rating, nor one silo's sums. A silo shows a certificate with its name in the agreement.

    \b
    Example:
      discreet federate server --agreement agreement.json --catalogue items.csv --store run.sqlite \\
          --tls tls/server --listen 0.0.0.0:8443 --out model/
    """
    started = time.perf_counter()
    agreed = Agreement.load(agreement)
    items = read_catalogue(catalogue, agreed)
    terms = Terms(
        agreed.run_id,
        agreed.roster,
        agreed.smallest_roster,
        max_bytes(agreed),
        drop_after=drop_after,
        linger=linger,
    )
    context = server_context(Path(tls))
    check_out(out, begun=Path(store).exists(), overwrite=force)
    finished: list[tuple[Model, dict[str, Any]]] = []

    def finish(coordinator: Coordinator) -> bytes:
        model = coordinator.model(items)
        save_once(model, out, overwrite=force)
        finished.append((model, summarise_run(coordinator, model)))
        return encode_model(model, agreed)

    with listen(address) as listener, RoundProgress() as progress:
        host, port = listener.getsockname()[:2]
        progress.say(f"Listening on https://{host}:{port}")
        begin = partial(Coordinator, Path(store), agreed)
        run_until_stopped(Server(begin, finish, terms, context, progress.report).run(listener))
    if not finished:
        raise Unreachable("stopped before the run had finished; start the server again and it goes on")
    model, result = finished[0]
    result = {**result, "seconds": round(time.perf_counter() - started, 3)}
    if as_json:
        print_json(result)
    else:
        show_run("Trained in silos", result, model, out)


@click.command("drop")
@agreement_option
@store_option
@click.option("--silo", required=True, metavar="NAME", help="The silo to go on without.")
@json_option
def drop_command(agreement: str, store: str, silo: str, as_json: bool) -> None:
    """Go on without a silo that has left: the current round is asked again of the others.

    Stop the server first. The others are charged for the round a second time, and their statements say so; the
    silo that was dropped cannot come back into this run.

    \b
    Example:
      discreet federate drop --agreement agreement.json --store run.sqlite --silo north
    """
    with Coordinator(Path(store), Agreement.load(agreement)) as coordinator:
        coordinator.drop(silo)
        status = coordinator.status()
    if as_json:
        print_json(status)
    else:
        printer().print(f"Going on with {', '.join(status['roster'])}; start the server again.", markup=False)


@click.command("finish")
@agreement_option
@store_option
@json_option
def finish_command(agreement: str, store: str, as_json: bool) -> None:
    """End a run early with what the rounds so far have taught, where too few silos are left to go on.

    Stop the server first; start it again afterwards to save the model and tell the silos.

    \b
    Example:
      discreet federate finish --agreement agreement.json --store run.sqlite
    """
    with Coordinator(Path(store), Agreement.load(agreement)) as coordinator:
        coordinator.finish_early()
        status = coordinator.status()
    if as_json:
        print_json(status)
    else:
        printer().print(f"Ended after {status['round']} rounds; start the server again.", markup=False)
