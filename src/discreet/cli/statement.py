"""``discreet statement`` and ``report``: what a model promises, in words, as a page, and signed; what it is worth."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

from discreet.cli.group import needs
from discreet.cli.options import WholeRows
from discreet.cli.output import Answer, Output, check_file, spinner
from discreet.cli.request import argument, option, takes
from discreet.data.ratings import Ratings
from discreet.errors import SettingsInvalid
from discreet.model import Model
from discreet.model.directory import replace_file
from discreet.model.folder import describe
from discreet.reports import make_report
from discreet.reports import page as report_page
from discreet.statements import Document, write_document
from discreet.statements.document import text_lines
from discreet.statements.page import page
from discreet.statements.words import headline

if TYPE_CHECKING:
    from discreet.statements.signature import Check

__all__ = ["report", "statement"]


class _Statement(Output):
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


@takes(_Statement, "statement")
def statement(request: _Statement) -> Answer:
    """Signing needs the package cryptography (pip install 'discreet[sign]').
    With --verify the exit code is 1 if the key did not sign the statement, or the model is another one.

    \b
    Examples:
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
        return _verify(request, request.verify, request.key)
    document = write_document(request.model)
    if request.html is not None:
        _write(request.html, page(document).encode(), request)
    there = "" if request.html is None else f"The page is in {request.html}"
    if request.sign is not None:
        content, words = _sign(document, request, request.sign)
        return Answer(content, "\n".join(filter(None, (words, there))))
    return Answer(document.to_dict(), there or "\n".join(text_lines(document)))


def _sign(document: Document, request: _Statement, key_file: Path) -> tuple[dict[str, str], str]:
    signature = _signature()
    out = request.out or request.model.with_name(f"{request.model.absolute().name}.statement.json")
    key = signature.read_private_key(
        key_file, lambda: click.prompt("Password of the key", hide_input=True, err=True)
    )
    content, signed = signature.sign(document, key)
    _write(out, content, request)
    _write(_sig(out), signed, request)
    by = signature.fingerprint(key.public_key())
    words = (
        f"Signed: {headline(document.statement)}",
        f"Model:  {document.model.name}, digest {document.model.digest}",
        f"Key:    {by}",
        f"Saved:  {out} and {_sig(out)}",
    )
    return {"statement": str(out), "signature": str(_sig(out)), "fingerprint": by}, "\n".join(words)


def _verify(request: _Statement, file: Path, key_file: Path) -> Answer:
    signature = _signature()
    key, model = signature.read_public_key(key_file), describe(request.model)
    check = signature.check_signed(file.read_bytes(), _sig(file).read_bytes(), key, model)
    words = "\n".join(_words(check, file, request.model))
    return Answer({"good": check.good, **asdict(check)}, words, exit_code=0 if check.good else 1)


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


def _write(target: Path, content: bytes, request: _Statement) -> None:
    check_file(target, model=request.model)
    place = target.absolute()
    if request.sign is not None and place.resolve() == request.sign.resolve():
        raise SettingsInvalid(f"{target} is the key itself; choose another name")
    replace_file(place, lambda file: file.write(content), private=False)


def _sig(statement: Path) -> Path:
    return statement.with_name(f"{statement.name}.sig")


def _signature() -> ModuleType:
    needs("a signature", "sign", "cryptography")
    return importlib.import_module("discreet.statements.signature")


class _Report(Output, WholeRows):
    model: Path = argument("MODEL")
    out: Path | None = option("The page.  [default: MODEL.report.html]", metavar="FILE.html")
    ratings: str | None = option("What the users of --test did before: the training file.", metavar="FILE")
    test: str | None = option("Ratings to measure the quality with.", metavar="FILE")
    user: str = option("Column of user ids.", "user")
    item: str = option("Column of item ids.", "item")
    rating: str | None = option(
        "Column of ratings.  [default: rating, for a model that was trained on ratings]"
    )


@takes(_Report, "report")
def report(request: _Report) -> Answer:
    """All of it follows from the released model. With --ratings and --test also the quality beside baselines, which is
    computed from ratings without noise: such a page is for you alone. The page needs nothing else and prints well.

    \b
    Examples:
      discreet report model/ --ratings ratings.csv --test test.csv --out report.html
    """
    past = held_out = None
    out = request.out or request.model.with_name(f"{request.model.absolute().name}.report.html")
    check_file(out, model=request.model)
    model = Model.load(request.model)
    files = [file for file in (request.ratings, request.test) if file is not None]
    if len(files) == 1:
        missing = "--ratings" if request.ratings is None else "--test"
        raise SettingsInvalid(
            f"quality needs both --ratings (what people did before) and --test; {missing} is missing"
        )
    if files:
        if request.rating is None and model.item_side.scale.explicit:
            request = request.model_copy(update={"rating": "rating"})
        reading = request.reading_for(model)
        past, held_out = (Ratings.from_file(file, **reading) for file in files)
    with spinner("looking at the model"):
        found = make_report(request.model, past, held_out)
        content = report_page(found).encode()
    kept = found.quality is not None or not model.statement.private
    replace_file(out.absolute(), lambda file: file.write(content), private=kept)
    if found.quality is not None and not request.as_json:
        click.echo("It has numbers that no promise covers: keep it to yourself.", err=True)
    return Answer({"out": str(out), **found.to_dict()}, f"The page is in {out}")
