"""``discreet statement``: what a model promises, in words, as a page, and signed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

from discreet.cli.output import Output, check_file, print_json
from discreet.cli.request import argument, option, takes
from discreet.errors import SettingsInvalid
from discreet.model.description import describe
from discreet.model.directory import replace_file
from discreet.statements import Document, write_document
from discreet.statements.page import page
from discreet.statements.text import text_lines
from discreet.statements.words import headline

if TYPE_CHECKING:
    from discreet.statements.signature import Check

__all__ = ["command"]


class _Asked(Output):
    model: Path = argument("MODEL")
    html: Path | None = option("Write a page that prints on two sheets.", metavar="FILE")
    sign: Path | None = option("Sign with this private key (Ed25519, PEM).", metavar="KEY")
    out: Path | None = option(
        "With --sign: where to write the statement; the signature goes to FILE.sig.  [default: MODEL.statement.json]",
        metavar="FILE",
        about="sign",
    )
    verify: Path | None = option("Check a signed statement and MODEL.", metavar="FILE")
    key: Path | None = option(
        "With --verify: the signer's public key (PEM).", metavar="PUBLIC", about="verify"
    )


@takes(_Asked, "statement")
def command(request: _Asked) -> None:
    """Say what a MODEL promises, what that means, and what it cost; make a page of it, or sign it.

    Signing needs the package cryptography (pip install 'discreet[sign]').
    With --verify the exit code is 1 if the key did not sign the statement, or the model is another one.

    \b
    Examples:
      discreet statement model/
      discreet statement model/ --html statement.html
      discreet statement model/ --sign key.pem
      discreet statement model/ --verify model.statement.json --key public.pem
    """
    if request.verify is not None and (request.html is not None or request.sign is not None):
        raise SettingsInvalid("--verify checks and writes nothing; leave --html and --sign out")
    if request.verify is not None and request.key is None:
        raise SettingsInvalid(
            "--verify needs --key PUBLIC.pem, the public key of whom you expect to have signed: a signature by "
            "just any key proves nothing"
        )
    if request.verify is not None and request.key is not None:
        sys.exit(_verify(request, request.verify, request.key))
    document = write_document(request.model)
    if request.html is not None:
        _write(request.html, page(document).encode(), request)
    if request.sign is not None:
        _sign(document, request, request.sign)
    elif request.as_json:
        print_json(document.to_dict())
    elif request.html is None:
        click.echo("\n".join(text_lines(document)))
    if request.html is not None and not request.as_json:
        click.echo(f"The page is in {request.html}")


def _sign(document: Document, request: _Asked, key_file: Path) -> None:
    signature = _signature()
    out = request.out or request.model.with_name(f"{request.model.absolute().name}.statement.json")
    key = signature.read_private_key(
        key_file, lambda: click.prompt("Password of the key", hide_input=True, err=True)
    )
    content, signed = signature.sign(document, key)
    _write(out, content, request)
    _write(_sig(out), signed, request)
    by = signature.fingerprint(key.public_key())
    if request.as_json:
        print_json({"statement": str(out), "signature": str(_sig(out)), "fingerprint": by})
        return
    click.echo(f"Signed: {headline(document.statement)}")
    click.echo(f"Model:  {document.model.name}, digest {document.model.digest}")
    click.echo(f"Key:    {by}")
    click.echo(f"Saved:  {out} and {_sig(out)}")


def _verify(request: _Asked, file: Path, key_file: Path) -> int:
    signature = _signature()
    key, model = signature.read_public_key(key_file), describe(request.model)
    check = signature.check_signed(file.read_bytes(), _sig(file).read_bytes(), key, model)
    if request.as_json:
        print_json({"good": check.good, **asdict(check)})
    else:
        click.echo("\n".join(_words(check, file, request.model)))
    return 0 if check.good else 1


def _words(check: Check, file: Path, model: Path) -> Iterator[str]:
    if not check.signed:
        yield f"NOT SIGNED by the key {check.fingerprint}: {file} or its signature was altered, or another key made it."
        yield "Do not rely on what it says."
        return
    yield f"Signed by the key {check.fingerprint}; compare this fingerprint with one from the signer."
    yield f"Stated on {check.issued_on} by discreet {check.issued_by}: {check.headline}"
    yield f"About the model with digest {check.model_digest}"
    if check.differences:
        yield f"{model} is NOT that model: {'; '.join(check.differences)}"
    else:
        yield f"{model} is that model, byte for byte."


def _write(target: Path, content: bytes, request: _Asked) -> None:
    check_file(target, model=request.model)
    place = target.absolute()
    if request.sign is not None and place.resolve() == request.sign.resolve():
        raise SettingsInvalid(f"{target} is the key itself; choose another name")
    replace_file(place, lambda file: file.write(content), private=False)


def _sig(statement: Path) -> Path:
    return statement.with_name(f"{statement.name}.sig")


def _signature() -> ModuleType:
    try:
        return importlib.import_module("discreet.statements.signature")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "cryptography":
            raise
        raise SettingsInvalid(
            "signatures need the package cryptography; install it with: pip install 'discreet[sign]'"
        ) from None
