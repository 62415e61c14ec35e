"""``discreet federate authority`` and ``key``: a certificate for tests, mask keys and signing keys."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.output import json_option, print_json, printer
from discreet.silos.transport.authority import (
    NOTICE_TEXT,
    PUBLIC_KEYS,
    make_authority,
    make_mask_key,
    make_signing_key,
)

__all__ = ["authority_command", "key_command"]


@click.command("authority")
@click.argument("folder", metavar="DIR")
@click.option("--silos", required=True, metavar="A,B,C", help="Names of the silos, with commas between.")
@click.option(
    "--host",
    "hosts",
    multiple=True,
    help="Another host name or address of the server; localhost and 127.0.0.1 are always included. Repeatable.",
)
@json_option
def authority_command(folder: str, silos: str, hosts: tuple[str, ...], as_json: bool) -> None:
    """Make a TEST authority: the server's certificate and everybody's keys, all on this machine.

    The server gets DIR/server as its --tls folder, each silo DIR/silos/NAME. For tests only: whoever makes the
    folder has everybody's keys.

    \b
    Example:
      discreet federate authority tls/ --silos north,south,east
    """
    names = [name.strip() for name in silos.split(",")]
    public = make_authority(Path(folder), names, hosts)
    if as_json:
        found = {"public_mask_keys": public.masks, "public_signing_keys": public.signing}
        print_json({"folder": folder, "for_tests_only": True, **found, "public_server_key": public.server})
        return
    console = printer()
    console.print(
        f"Made {folder} for {len(public.signing)} silos; everybody's public keys are in {PUBLIC_KEYS} there."
    )
    console.print(NOTICE_TEXT, markup=False)


@click.command("key")
@click.argument("file", metavar="FILE")
@click.option(
    "--signing",
    is_flag=True,
    help="A signing key instead (signing.key in the --tls folder of silo or server).",
)
@json_option
def key_command(file: str, signing: bool, as_json: bool) -> None:
    """Make a silo's own mask key in FILE (mask.key in its --tls folder) and print the public half.

    The public half goes into the agreement. Whoever has the private one can take the masks off this silo's answers.
    With --signing: the key that its messages are signed with (Ed25519). Whoever
    has the private one can speak in the silo's name. The server needs one too.

    \b
    Example:
      discreet federate key tls/mask.key
      discreet federate key --signing tls/signing.key
    """
    public = make_signing_key(Path(file)) if signing else make_mask_key(Path(file))
    if as_json:
        print_json({"file": file, "public_signing_key" if signing else "public_mask_key": public})
    else:
        printer().print(public)
