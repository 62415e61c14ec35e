"""``discreet federate agree``, ``authority`` and ``key``: what all silos sign up to, and the keys in it."""

from __future__ import annotations

from pathlib import Path

from discreet.cli.federate.terms import Terms
from discreet.cli.output import Output, print_json, printer
from discreet.cli.request import argument, option, takes
from discreet.errors import SettingsInvalid
from discreet.silos.shared.keys import (
    NOTICE_TEXT,
    PUBLIC_KEYS,
    PublicKeys,
    make_authority,
    make_mask_key,
    make_signing_key,
)

__all__ = ["agree_command", "authority_command", "key_command"]


class _Agree(Terms):
    """What `agree` can be asked."""

    name: str = option("What people call the run.")
    keys: str | None = option("JSON with everybody's public keys, as 'authority' writes it.", metavar="FILE")
    silos: tuple[str, ...] = option(
        "A silo and its public keys, as 'discreet federate key' and 'key --signing' printed them (for"
        " prototypes NAME=SIGNING); repeatable.",
        name="--silo",
        metavar="NAME=MASK:SIGNING",
    )
    server_key: str | None = option("The server's public signing key.", metavar="KEY")
    out: str = option("Where to put the agreement.", metavar="FILE")


class _Authority(Output):
    """What `authority` can be asked."""

    folder: str = argument("DIR")
    silos: str = option("Names of the silos, with commas between.", metavar="A,B,C")
    hosts: tuple[str, ...] = option(
        "Another host name or address of the server; localhost and 127.0.0.1 are always included. "
        "Repeatable.",
        name="--host",
    )


class _Key(Output):
    """What `key` can be asked."""

    file: str = argument("FILE")
    signing: bool = option("A signing key instead (signing.key in the --tls folder of silo or server).")


@takes(_Agree, "agree")
def agree_command(request: _Agree) -> None:
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
    if Path(request.out).exists():
        raise SettingsInvalid(
            f"{request.out} exists already; an agreement is never replaced, choose another name"
        )
    public = PublicKeys() if request.keys is None else PublicKeys.read(Path(request.keys))
    agreement = request.agreement(request.name, public.and_typed(request.silos, request.server_key))
    agreement.save(request.out)
    if request.as_json:
        print_json({"digest": agreement.digest, **agreement.model_dump(mode="json")})
        return
    console = printer()
    console.print(f"Agreement of {len(agreement.roster)} silos written to {request.out}.")
    console.print(f"Digest, for every silo to compare: {agreement.digest}")


@takes(_Authority, "authority")
def authority_command(request: _Authority) -> None:
    """Make a TEST authority: the server's certificate and everybody's keys, all on this machine.

    The server gets DIR/server as its --tls folder, each silo DIR/silos/NAME. For tests only: whoever makes the
    folder has everybody's keys.

    \b
    Example:
      discreet federate authority tls/ --silos north,south,east
    """
    names = [name.strip() for name in request.silos.split(",")]
    public = make_authority(Path(request.folder), names, request.hosts)
    if request.as_json:
        found = {"public_mask_keys": public.masks, "public_signing_keys": public.signing}
        print_json(
            {"folder": request.folder, "for_tests_only": True, **found, "public_server_key": public.server}
        )
        return
    console = printer()
    console.print(
        f"Made {request.folder} for {len(names)} silos; everybody's public keys are in {PUBLIC_KEYS} there."
    )
    console.print(NOTICE_TEXT)


@takes(_Key, "key")
def key_command(request: _Key) -> None:
    """Make a silo's own mask key in FILE (mask.key in its --tls folder) and print the public half.

    The public half goes into the agreement. Whoever has the private one can take the masks off this silo's answers.
    With --signing: the key that its messages are signed with (Ed25519). Whoever
    has the private one can speak in the silo's name. The server needs one too.

    \b
    Example:
      discreet federate key tls/mask.key
      discreet federate key --signing tls/signing.key
    """
    public = (make_signing_key if request.signing else make_mask_key)(Path(request.file))
    if request.as_json:
        kind = "public_signing_key" if request.signing else "public_mask_key"
        print_json({"file": request.file, kind: public})
    else:
        printer().print(public)
