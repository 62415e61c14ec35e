"""``discreet federate agree``: what all silos sign up to, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli.federate.terms import agreement_options, make_agreement
from discreet.cli.output import json_option, print_json, printer
from discreet.errors import SettingsInvalid
from discreet.silos.transport.public_keys import PublicKeys

__all__ = ["agree_command"]


@click.command("agree")
@click.option("--name", required=True, help="What people call the run.")
@click.option("--keys", metavar="FILE", help="JSON with everybody's public keys, as 'authority' writes it.")
@click.option(
    "--silo",
    "pairs",
    multiple=True,
    metavar="NAME=MASK:SIGNING",
    help="A silo and its public keys, as 'discreet federate key' and 'key --signing' printed them (for prototypes "
    "NAME=SIGNING); repeatable.",
)
@click.option("--server-key", metavar="KEY", help="The server's public signing key.")
@agreement_options
@click.option("--out", required=True, metavar="FILE", help="Where to put the agreement.")
@json_option
@click.pass_context
def agree_command(
    ctx: click.Context,
    /,
    name: str,
    keys: str | None,
    pairs: tuple[str, ...],
    server_key: str | None,
    out: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Write the agreement of a run: budget, items, scale, settings, silos and who adds the noise.

    Every silo reads the file, compares the digest by another way than the one the file came, and keeps it; from
    then on it refuses whatever the file does not allow.

    \b
    Example:
      discreet federate agree --name trial --keys tls/keys.json --epsilon 1 --delta 1e-6 \\
          --catalogue items.csv --rating-range 1 5 --honest 2 --out agreement.json
      discreet federate agree --method prototypes --prototypes 10 --name trial --keys tls/keys.json \\
          --epsilon 1 --catalogue items.csv --rating-range 1 5 --out agreement.json
    """
    if Path(out).exists():
        raise SettingsInvalid(f"{out} exists already; an agreement is never replaced, choose another name")
    public = PublicKeys() if keys is None else PublicKeys.read(Path(keys))
    for pair in pairs:
        public = public.with_pair(pair, masks=options["method"] != "prototypes")
    agreement = make_agreement(ctx, name, public.with_server(server_key), options)
    agreement.save(out)
    if as_json:
        print_json({"digest": agreement.digest, **agreement.model_dump(mode="json")})
        return
    console = printer()
    console.print(f"Agreement of {len(agreement.roster)} silos written to {out}.", markup=False)
    console.print(f"Digest, for every silo to compare: {agreement.digest}")
