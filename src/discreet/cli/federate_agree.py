"""``discreet federate agree``: what all silos sign up to, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from discreet.catalogue import Catalogue
from discreet.cli.federate_options import agreement_options, read_agreement_settings
from discreet.cli.output import json_option, print_json, printer
from discreet.errors import SettingsInvalid
from discreet.federated.agreement import Agreement
from discreet.federated.transport.authority import read_public_keys
from discreet.privacy.budget import Budget

__all__ = ["agree_command", "make_agreement"]


@click.command("agree")
@click.option("--name", required=True, help="What people call the run.")
@click.option("--keys", metavar="FILE", help="JSON with each silo's public mask key, by name.")
@click.option(
    "--silo",
    "pairs",
    multiple=True,
    metavar="NAME=KEY",
    help="A silo and its public mask key, as 'discreet federate key' printed it; repeatable.",
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
    """
    if Path(out).exists():
        raise SettingsInvalid(f"{out} exists already; an agreement is never replaced, choose another name")
    silos = {} if keys is None else read_public_keys(Path(keys))
    for pair in pairs:
        silo, equals, key = pair.partition("=")
        if not equals or silo in silos:
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


def make_agreement(
    ctx: click.Context, name: str, silos: dict[str, str], options: dict[str, Any]
) -> Agreement:
    """An agreement from the options of :func:`agreement_options`."""
    noise: Literal["shares", "server"] = options["noise"]
    return Agreement.make(
        name,
        silos=silos,
        budget=Budget.parse(options["epsilon"], options["delta"]),
        catalogue=Catalogue.from_file(options["catalogue"]),
        rating_range=options["rating_range"] or None,
        settings=read_agreement_settings(ctx, options),
        honest=options["honest"],
        noise=noise,
        seed=options["seed"],
    )
