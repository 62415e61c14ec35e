"""``discreet statement``: what a model promises, in words, as a page, and signed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import click

from discreet.cli.output import Output, print_json
from discreet.cli.request import Argument, Option, takes
from discreet.errors import SettingsInvalid
from discreet.model.description import describe
from discreet.model.directory import replace_file
from discreet.statements import Document, write_document
from discreet.statements.page import page
from discreet.statements.text import text_lines
from discreet.statements.words import headline

if TYPE_CHECKING:
    from discreet.statements.signature import Check

__all__ = ["Stated", "command"]


class Stated(Output):
    """What `statement` can be asked."""

    model: Annotated[Path, Argument("MODEL")]
    html: Annotated[Path | None, Option("Write a page that prints on two sheets.", metavar="FILE")] = None
    sign: Annotated[Path | None, Option("Sign with this private key (Ed25519, PEM).", metavar="KEY")] = None
    out: Annotated[
        Path | None,
        Option(
            "With --sign: where to write the statement; the signature goes to FILE.sig. "
            "[default: MODEL.statement.json]",
            metavar="FILE",
        ),
    ] = None
    verify: Annotated[Path | None, Option("Check a signed statement and MODEL.", metavar="FILE")] = None
    key: Annotated[Path | None, Option("With --verify: the signer's public key (PEM).", metavar="PUBLIC")] = (
        None
    )


@takes(Stated, "statement")
def command(request: Stated) -> None:
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
    _check_options(request)
    if request.verify is not None:
        assert request.key is not None
        sys.exit(_verify(request.model, request.verify, request.key, request.as_json))
    document = write_document(request.model)
    if request.html is not None:
        _write(request.html, page(document).encode(), request.model, request.sign)
    if request.sign is not None:
        out = request.out or _beside(request.model)
        _sign(document, request.sign, out, request.model, request.as_json)
    elif request.as_json:
        print_json(document.to_dict())
    elif request.html is None:
        click.echo("\n".join(text_lines(document)))
    if request.html is not None and not request.as_json:
        click.echo(f"The page is in {request.html}")


def _check_options(request: Stated) -> None:
    if request.verify is not None and (request.html is not None or request.sign is not None):
        raise SettingsInvalid("--verify checks and writes nothing; leave --html and --sign out")
    if request.verify is not None and request.key is None:
        raise SettingsInvalid(
            "--verify needs --key PUBLIC.pem, the public key of whom you expect to have signed: a signature by "
            "just any key proves nothing"
        )
    if request.key is not None and request.verify is None:
        raise SettingsInvalid("--key belongs to --verify; the private key to sign with goes to --sign")
    if request.out is not None and request.sign is None:
        raise SettingsInvalid(
            "--out belongs to --sign; a page goes to --html FILE, JSON to stdout with --json"
        )


def _sign(document: Document, key_file: Path, out: Path, model: Path, as_json: bool) -> None:
    signature = _signature()
    key = signature.read_private_key(
        key_file, lambda: click.prompt("Password of the key", hide_input=True, err=True)
    )
    content, signed = signature.sign(document, key)
    _write(out, content, model, key_file)
    _write(_sig(out), signed, model, key_file)
    by = signature.fingerprint(key.public_key())
    if as_json:
        print_json({"statement": str(out), "signature": str(_sig(out)), "fingerprint": by})
        return
    click.echo(f"Signed: {headline(document.statement)}")
    click.echo(f"Model:  {document.model.name}, digest {document.model.digest}")
    click.echo(f"Key:    {by}")
    click.echo(f"Saved:  {out} and {_sig(out)}")


def _verify(model: Path, file: Path, key_file: Path, as_json: bool) -> int:
    signature = _signature()
    check = signature.check_signed(
        file.read_bytes(), _sig(file).read_bytes(), signature.read_public_key(key_file), describe(model)
    )
    if as_json:
        print_json({"good": check.good, **asdict(check)})
    else:
        click.echo("\n".join(_words(check, file, model)))
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


def _write(target: Path, content: bytes, model: Path, key: Path | None = None) -> None:
    """A file outside the model: a folder with a file too many is no model any more."""
    place = target.absolute()
    if not place.parent.is_dir():
        raise SettingsInvalid(f"{place.parent} is not a directory; create it first")
    if place.is_dir():
        raise SettingsInvalid(f"{target} is a directory; give the name of a file")
    if key is not None and place.resolve() == key.resolve():
        raise SettingsInvalid(f"{target} is the key itself; choose another name")
    if place.parent.resolve() == model.resolve():
        raise SettingsInvalid(f"{target} lies in the model's own folder, which must hold the model alone")
    replace_file(place, lambda file: file.write(content), private=False)


def _beside(model: Path) -> Path:
    return model.with_name(f"{model.absolute().name}.statement.json")


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
