"""``discreet federate agree``: what all silos sign up to, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli.federate.terms import agreement_options, make_agreement
from discreet.cli.output import json_option, print_json, printer
from discreet.errors import SettingsInvalid
from discreet.silos.transport.authority import read_public_keys

__all__ = ["agree_command"]


@click.command("agree")
@click.option("--name", required=True, help="What people call the run.")
@click.option("--keys", metavar="FILE", help="JSON with each silo's public mask key, by name.")
@click.option(
    "--silo",
    "pairs",
    multiple=True,
    metavar="NAME=KEY",
    help="A silo and its public mask key, as 'discreet federate key' printed it (for prototypes NAME is enough); "
    "repeatable.",
)
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
      discreet federate agree --method prototypes --prototypes 10 --name trial --silo north --silo south \\
          --epsilon 1 --catalogue items.csv --rating-range 1 5 --out agreement.json
    """
    if Path(out).exists():
        raise SettingsInvalid(f"{out} exists already; an agreement is never replaced, choose another name")
    silos = {} if keys is None else read_public_keys(Path(keys))
    for pair in pairs:
        silo, equals, key = pair.partition("=")
        if silo in silos or not (equals or options["method"] == "prototypes"):
            raise SettingsInvalid(f"--silo takes NAME=KEY, and each name once; not {pair!r}")
        silos[silo] = key
    agreement = make_agreement(ctx, name, silos, options)
    agreement.save(out)
    if as_json:
        print_json({"digest": agreement.digest, **agreement.model_dump(mode="json")})
        return
    console = printer()
    console.print(f"Agreement of {len(silos)} silos written to {out}.", markup=False)
    console.print(f"Digest, for every silo to compare: {agreement.digest}")
