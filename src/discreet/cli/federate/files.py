"""``discreet federate export``, ``import`` and ``model``: the server's side of a run carried by hand, file by file.

The bytes are those that would have been sent; the silo's side is ``answer``.
"""

from __future__ import annotations

import os
from pathlib import Path

from discreet.cli.federate.output import Teller, show_run, summary
from discreet.cli.federate.server import AtServer, read_catalogue
from discreet.cli.output import print_json, printer
from discreet.cli.request import argument, option, takes
from discreet.errors import Refused
from discreet.model.directory import replace_file
from discreet.model.saving import save_once
from discreet.model.storage import check_target
from discreet.silos.shared.agreement import BaseAgreement, PrototypeAgreement, load_agreement
from discreet.silos.shared.keys import read_signing_key
from discreet.silos.shared.signing import MARK, SERVER, SigningKey, open_seal

__all__ = [
    "check_message_place",
    "export_command",
    "import_command",
    "model_command",
    "read_message",
    "write_message",
]

_BESIDE_A_STORE = ("", "-journal", "-wal", "-shm")  # what SQLite has under a store's name


class _Export(AtServer):
    """What `export` can be asked."""

    signing_key: str = option("The server's own, of 'key --signing'.", metavar="FILE")
    out: str = option("Where to put the question.", metavar="FILE")


class _Import(AtServer):
    """What `import` can be asked."""

    files: tuple[str, ...] = argument("ANSWER...")


class _Save(AtServer):
    """What `model` can be asked."""

    catalogue: str = option("Public list of items (CSV, Parquet, NDJSON or text).", metavar="FILE")
    out: str = option("Directory to put the model into.", metavar="DIR")
    force: bool = option("Replace a model that is already there.")


@takes(_Export, "export")
def export_command(request: _Export) -> None:
    """Write the server's current question to a file, for every silo the same.

    \b
    Example:
      discreet federate export --agreement agreement.json --store run.sqlite --signing-key signing.key \\
          --out question-1.bin
    """
    agreed, out = load_agreement(request.agreement), Path(request.out)
    if isinstance(agreed, PrototypeAgreement):
        raise Refused("for prototypes nothing is asked: each silo begins with 'discreet federate answer'")
    check_message_place(out, store=Path(request.store))
    key = SigningKey(agreed, SERVER, read_signing_key(Path(request.signing_key)))
    with request.open(agreed, begun=False) as run:
        asked = run.question()
        status = run.status()
    if asked is None:
        raise Refused(
            "the run has finished: there is no question left; 'discreet federate model' saves the model"
        )
    question = key.seal("question", asked)
    write_message(out, question)
    Teller(agreed, request.store).note(status)
    if request.as_json:
        print_json({"file": request.out, "bytes": len(question), **status})
    else:
        waiting = ", ".join(status["waiting_for"])
        printer().print(f"Wrote {out} ({len(question):,} bytes); awaited from: {waiting}")


@takes(_Import, "import")
def import_command(request: _Import) -> None:
    """Take silos' answer files into the server's store.

    \b
    Example:
      discreet federate import answer-*-1.bin --agreement agreement.json --store run.sqlite
    """
    agreed = load_agreement(request.agreement)
    messages = [read_message(Path(file), agreed) for file in request.files]
    # For prototypes nothing was exported: the first answer begins the run.
    with request.open(agreed, begun=not isinstance(agreed, PrototypeAgreement)) as run:
        for file, message in zip(request.files, messages, strict=True):
            try:
                opened = open_seal(agreed, message, "answer")
                run.receive(opened.sender, opened.body)
            except Refused as error:
                raise Refused(f"{file}: {error}") from None
        status = run.status()
    Teller(agreed, request.store).note(status)
    if status["reason"] is not None:
        raise Refused(f"the run has failed: {status['reason']}")
    if request.as_json:
        print_json(status)
        return
    over = status["state"] == "finished"
    waiting = ", ".join(status["waiting_for"])
    printer().print("The run has finished: discreet federate model" if over else f"Awaited from: {waiting}")


@takes(_Save, "model")
def model_command(request: _Save) -> None:
    """Save the model of a finished run from the server's store.

    \b
    Example:
      discreet federate model --agreement agreement.json --catalogue items.csv --store run.sqlite --out model/
    """
    agreed = load_agreement(request.agreement)
    catalogue = read_catalogue(request.catalogue, agreed)
    with request.open(agreed, begun=True) as run:
        check_target(request.out, overwrite=True)
        if run.question() is not None:
            waiting = ", ".join(run.status()["waiting_for"])
            raise Refused(f"the run has not finished yet; awaited from: {waiting}")
        model = run.model(catalogue)
        save_once(model, request.out, overwrite=request.force)
        result = summary(run, model)
    if request.as_json:
        print_json(result)
    else:
        show_run("Trained in silos", result, model, request.out)


def check_message_place(path: Path, *, store: Path, question: Path | None = None) -> None:
    """Refuse a place where a message would destroy something; worth asking before an answer is charged."""
    kept = [f"{store}{ending}" for ending in _BESIDE_A_STORE]
    kept += [] if question is None else [str(question)]
    if os.path.realpath(path) in map(os.path.realpath, kept):
        raise Refused(f"{path} is the place of another file of this command; choose another name")
    if not path.absolute().parent.is_dir():
        raise Refused(f"{path.absolute().parent} is not a directory; create it first")
    if path.exists() and not (path.is_file() and path.read_bytes()[:4] == MARK):
        raise Refused(f"{path} exists and is not a message of this program; choose another name")


def write_message(path: Path, message: bytes) -> None:
    """Put a message into a file, whole or not at all."""
    replace_file(path, lambda file: file.write(message), private=True)


def read_message(path: Path, agreement: BaseAgreement) -> bytes:
    """A message from a file, if it is not larger than any message of the run."""
    try:
        with path.open("rb") as file:
            message = file.read(agreement.most_bytes + 1)
    except FileNotFoundError:
        raise Refused(f"there is no file {path}") from None
    if len(message) > agreement.most_bytes:
        raise Refused(f"{path} is larger than any message of this run")
    return message
