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

from discreet.cli.output import json_option, print_json
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


@click.command("statement")
@click.argument("model_directory", metavar="MODEL", type=click.Path(path_type=Path))
@click.option(
    "--html", metavar="FILE", type=click.Path(path_type=Path), help="Write a page that prints on two sheets."
)
@click.option(
    "--sign",
    metavar="KEY",
    type=click.Path(path_type=Path),
    help="Sign with this private key (Ed25519, PEM).",
)
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="With --sign: where to write the statement; the signature goes to FILE.sig. [default: MODEL.statement.json]",
)
@click.option(
    "--verify", metavar="FILE", type=click.Path(path_type=Path), help="Check a signed statement and MODEL."
)
@click.option(
    "--key",
    metavar="PUBLIC",
    type=click.Path(path_type=Path),
    help="With --verify: the signer's public key (PEM).",
)
@json_option
def command(
    model_directory: Path,
    html: Path | None,
    sign: Path | None,
    out: Path | None,
    verify: Path | None,
    key: Path | None,
    as_json: bool,
) -> None:
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
    _check_options(html, sign, out, verify, key)
    if verify is not None:
        assert key is not None
        sys.exit(_verify(model_directory, verify, key, as_json))
    document = write_document(model_directory)
    if html is not None:
        _write(html, page(document).encode(), model_directory, sign)
    if sign is not None:
        _sign(document, sign, out or _beside(model_directory), model_directory, as_json)
    elif as_json:
        print_json(document.to_dict())
    elif html is None:
        click.echo("\n".join(text_lines(document)))
    if html is not None and not as_json:
        click.echo(f"The page is in {html}")


def _check_options(
    html: Path | None, sign: Path | None, out: Path | None, verify: Path | None, key: Path | None
) -> None:
    if verify is not None and (html is not None or sign is not None):
        raise SettingsInvalid("--verify checks and writes nothing; leave --html and --sign out")
    if verify is not None and key is None:
        raise SettingsInvalid(
            "--verify needs --key PUBLIC.pem, the public key of whom you expect to have signed: a signature by "
            "just any key proves nothing"
        )
    if key is not None and verify is None:
        raise SettingsInvalid("--key belongs to --verify; the private key to sign with goes to --sign")
    if out is not None and sign is None:
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
