"""``discreet federate silo``: one organisation's side of a run."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from discreet.cli.federate.options import (
    check_member,
    enter_silo,
    open_silo,
    read_catalogue,
    read_silo_ratings,
    silo_options,
)
from discreet.cli.federate.output import RoundProgress, answered
from discreet.cli.federate.status_file import StatusFile
from discreet.cli.output import counts, json_option, print_json, printer, say_dropped, show_holder
from discreet.silos.shared.agreements import largest_message, load_agreement
from discreet.silos.shared.seal import SigningKey
from discreet.silos.silo.silo_run import SiloRun, statement_of
from discreet.silos.transport.client import Client
from discreet.silos.transport.identity import (
    MASK_KEY,
    SIGNING_KEY,
    client_context,
    read_signing_key,
)
from discreet.silos.transport.participate import participate
from discreet.silos.transport.passes import pass_of
from discreet.silos.transport.signed_silo import SignedSilo

__all__ = ["silo_command"]


@click.command("silo")
@silo_options
@click.option(
    "--tls",
    required=True,
    metavar="DIR",
    help="Folder with authority.pem, signing.key, and mask.key (not for prototypes).",
)
@click.option("--server", "url", required=True, metavar="URL", help="https://HOST:PORT of the server.")
@click.option(
    "--patience",
    type=click.FloatRange(0.0),
    default=3600.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to go on trying a server that does not respond.",
)
@click.option(
    "--out",
    metavar="DIR",
    help="Directory to put the finished model into, to recommend here.",
)
@click.option("--force", is_flag=True, help="Replace a model that is already there.")
@json_option
@click.pass_context
def silo_command(
    ctx: click.Context,
    /,
    tls: str,
    url: str,
    patience: float,
    out: str | None,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Take part in a run with this organisation's ratings, which stay here.

    Calls the server and is never called. Refuses, with exit code 2 and nothing charged, whatever the agreement does
    not allow. After any stop, start it again with the same --store: what was answered is answered the same.

    \b
    Example:
      discreet federate silo --agreement agreement.json --name north --ratings north.csv --user user \\
          --item item --rating stars --catalogue items.csv --store north.sqlite --tls tls/silos/north \\
          --server https://server.example:8443
    """
    started = time.perf_counter()
    agreement = load_agreement(options["agreement"])
    options["mask_key"] = Path(tls) / MASK_KEY
    catalogue = read_catalogue(options["catalogue"], agreement)
    run = SiloRun(agreement, catalogue, Path(options["store"]), out, force=force)
    context = client_context(Path(tls))
    check_member(agreement, options["name"])
    key = SigningKey(agreement, options["name"], read_signing_key(Path(tls) / SIGNING_KEY))
    journal = enter_silo(ctx, agreement, options, catalogue)
    ratings = read_silo_ratings(agreement, catalogue, options)
    say_dropped(ratings)
    text = agreement.model_dump_json()
    with (
        open_silo(agreement, ratings, options, key, journal) as silo,
        RoundProgress() as progress,
        StatusFile(Path(options["store"])) as said,
    ):

        def report() -> None:
            said.write(text, silo.status())
            progress.say_once(answered(silo.status()))

        said.write(text, silo.status())
        largest = largest_message(agreement)
        client = Client(
            url, agreement.run_id, largest, context, pass_of(key), patience=patience, on_trouble=progress.say
        )
        signed = SignedSilo(silo, key)
        participate(
            signed,
            client,
            lambda message: run.finish(silo, signed.model(message)),
            report,
        )
        status, statement = silo.status(), statement_of(silo)
    if journal is not None:
        journal.end()
    holder = {**counts(ratings), "seconds": round(time.perf_counter() - started, 3)}
    if as_json:
        stated = None if statement is None else statement.model_dump(mode="json")
        print_json({**status, "statement": stated, "holder": holder})
        return
    console = printer()
    if statement is None:
        console.print("The run has finished without this silo; nothing was charged to its users.")
    else:
        console.print(f"What {options['name']} owes its own users, from its own account:", markup=False)
        console.print(str(statement), markup=False)
    if out is not None:
        console.print(f"Model saved to {out}", markup=False)
    show_holder(holder)
