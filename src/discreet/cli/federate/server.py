"""The server's side of a run: ``discreet federate server``, ``drop`` and ``finish``, and by hand ``export``, ``import``
and ``model``, where messages are carried as files (the silo's side is ``answer``).

Nothing that can read ratings is loaded for it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from discreet.catalogue import Catalogue
from discreet.cli.federate import command
from discreet.cli.federate.show import Teller, position
from discreet.cli.output import Answer, NewModel, Output, printer, promised, show_table
from discreet.cli.request import argument, option, takes
from discreet.errors import CatalogueInvalid, Refused, SettingsInvalid, Unreachable
from discreet.model import Model
from discreet.model.directory import replace_file
from discreet.model.folder import save_once
from discreet.model.storage import check_target
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.server.prototypes import PrototypeCoordinator
from discreet.silos.server.server import Server, listen, url_of
from discreet.silos.shared.agreement import AnyAgreement, BaseAgreement, PrototypeAgreement, load_agreement
from discreet.silos.shared.keys import SIGNING_KEY, read_signing_key, server_context
from discreet.silos.shared.outcome import encode_model
from discreet.silos.shared.signing import MARK, SERVER, SigningKey, open_seal

__all__ = [
    "check_message_place",
    "open_run",
    "read_catalogue",
    "read_message",
    "show_run",
    "summary",
    "write_message",
]

_BESIDE_A_STORE = ("", "-journal", "-wal", "-shm")  # what SQLite has under a store's name
_SHOWN = (
    *("method", "goal", "rank", "rounds", "prototypes", "silos", "items"),
    *("messages_up", "messages_down", "bytes_up", "bytes_down", "model_bytes_down"),
)
AnyCoordinator = Coordinator | PrototypeCoordinator


class _AtServer(Output):
    """What the server's commands need to go on with a run."""

    agreement: str = option("What was agreed.", metavar="FILE")
    store: str = option("Where the run is kept; goes on from there after a stop.", metavar="FILE")
    catalogue: str | None = option(
        "Public list of items; needed where item features were agreed on.", metavar="FILE"
    )

    def open(self, agreement: AnyAgreement, *, begun: bool) -> AnyCoordinator:
        """The coordinator; where the run must have begun, a mistyped name does not begin another."""
        if begun and not Path(self.store).is_file():
            raise SettingsInvalid(
                f"there is no store {self.store}; a run begins with 'discreet federate server', by hand with 'export' "
                "(for prototypes with 'import')"
            )
        return open_run(agreement, Path(self.store), self.catalogue)

    def change(self, change: Callable[[AnyCoordinator], object], *, begun: bool = True) -> dict[str, Any]:
        """Where the run stands after a change, which is noted beside the store."""
        agreed = load_agreement(self.agreement)
        with self.open(agreed, begun=begun) as run:
            change(run)
            status = run.status()
        Teller(agreed, self.store).note(status)
        return status


class _Whole(_AtServer):
    catalogue: str = option("Public list of items (CSV, Parquet, NDJSON or text).", metavar="FILE")


class _Serve(_Whole, NewModel):
    tls: str = option("Folder with certificate.pem, key.pem and signing.key.", metavar="DIR")
    listen: str = option("Port 0 takes a free one.", metavar="HOST:PORT")
    drop_after: float | None = option(
        "Go on without silos that have not answered for so long; never if left out.",
        gt=0.0,
        metavar="SECONDS",
    )
    linger: float = option(
        "How long to go on telling absent silos that the run has finished.", 600.0, ge=0.0, metavar="SECONDS"
    )
    log: bool = option("Write a log of JSON lines to standard error.")


@takes(_Serve, "server", inside=command)
def _server(request: _Serve) -> Answer:
    """Run the server of an agreement until all silos are done; start it again after any stop.

    It never sees a rating, nor one silo's sums, nor more of a silo than private prototypes where these were
    agreed on. A silo shows a pass that its signing key in the agreement has signed.

    \b
    Example:
      discreet federate server --agreement agreement.json --catalogue items.csv --store run.sqlite \\
          --tls tls/server --listen 0.0.0.0:8443 --out model/
    """
    started = time.perf_counter()
    agreed, tls = load_agreement(request.agreement), Path(request.tls)
    context = server_context(tls)
    key = SigningKey(agreed, SERVER, read_signing_key(tls / SIGNING_KEY))
    catalogue = read_catalogue(request.catalogue, agreed)
    check_target(request.out, overwrite=request.force or Path(request.store).exists())
    teller, results = Teller(agreed, request.store, as_json=request.log), []

    def report(status: dict[str, Any]) -> None:
        teller.note(status)
        teller.say(position(status), **status)

    with listen(request.listen) as listening, request.open(agreed, begun=False) as run:

        def finish() -> bytes:
            model = run.model(catalogue)
            save_once(model, request.out, overwrite=request.force)
            results.append((model, summary(run, model)))
            return encode_model(model, agreed)

        teller.say(f"Listening on {url_of(listening)}")
        server = Server(run, key, finish, drop_after=request.drop_after, linger=request.linger, report=report)
        server.serve(listening, context)
    if not results:
        raise Unreachable("stopped before the run had finished; start the server again and it goes on")
    [(model, result)] = results
    sent = server.model_bytes_sent
    result |= {"bytes_down": result["bytes_down"] + sent, "model_bytes_down": sent}
    if "messages_down" in result:
        result["messages_down"] = len(server.handed_to)
    result["holder"] = {"seconds": round(time.perf_counter() - started, 3)}
    return Answer(result, partial(show_run, "Trained in silos", result, model, request.out))


class _Drop(_AtServer):
    silos: tuple[str, ...] = option(
        "A silo to go on without; repeatable, and cheaper together.", name="--silo"
    )


@takes(_Drop, "drop", inside=command)
def _drop(request: _Drop) -> Answer:
    """Go on without silos that have left: the current round is asked again of the others.

    Stop the server first. The others are charged for the round a second time, once however many silos are dropped
    together, and their statements say so; with prototypes nobody is charged. A silo that was dropped cannot come
    back into this run.

    \b
    Example:
      discreet federate drop --agreement agreement.json --store run.sqlite --silo north --silo east
    """
    status = request.change(lambda run: run.drop(*request.silos))
    return Answer(status, f"Going on with {', '.join(status['roster'])}; start the server again.")


@takes(_AtServer, "finish", inside=command)
def _finish(request: _AtServer) -> Answer:
    """End a run early with what has been released so far, where too few silos are left to go on or it has failed.

    Stop the server first; start it again afterwards to save the model and tell the silos, or save it with 'model'.
    With prototypes the model is made of the messages that have come.

    \b
    Example:
      discreet federate finish --agreement agreement.json --store run.sqlite
    """
    status = request.change(lambda run: run.finish_early())
    return Answer(status, f"Ended after {status['round']} rounds; start the server again.")


class _Export(_AtServer):
    signing_key: str = option("The server's own, of 'key --signing'.", metavar="FILE")
    out: str = option("Where to put the question.", metavar="FILE")


@takes(_Export, "export", inside=command)
def _export(request: _Export) -> Answer:
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
    key, asked = SigningKey(agreed, SERVER, read_signing_key(Path(request.signing_key))), []
    status = request.change(lambda run: asked.append(run.question()), begun=False)
    if asked[0] is None:
        raise Refused(
            "the run has finished: there is no question left; 'discreet federate model' saves the model"
        )
    question = key.seal("question", asked[0])
    write_message(out, question)
    words = f"Wrote {out} ({len(question):,} bytes); awaited from: {', '.join(status['waiting_for'])}"
    return Answer({"file": request.out, "bytes": len(question), **status}, words)


class _Import(_AtServer):
    files: tuple[str, ...] = argument("ANSWER...")


@takes(_Import, "import", inside=command)
def _import(request: _Import) -> Answer:
    """Take silos' answer files into the server's store.

    \b
    Example:
      discreet federate import answer-*-1.bin --agreement agreement.json --store run.sqlite
    """
    agreed = load_agreement(request.agreement)
    messages = [read_message(Path(file), agreed) for file in request.files]

    def take(run: AnyCoordinator) -> None:
        for file, message in zip(request.files, messages, strict=True):
            try:
                opened = open_seal(agreed, message, "answer")
                run.receive(opened.sender, opened.body)
            except Refused as error:
                raise Refused(f"{file}: {error}") from None

    # For prototypes nothing was exported: the first answer begins the run.
    status = request.change(take, begun=not isinstance(agreed, PrototypeAgreement))
    if status["reason"] is not None:
        raise Refused(f"the run has failed: {status['reason']}")
    over = status["state"] == "finished"
    waiting = f"Awaited from: {', '.join(status['waiting_for'])}"
    return Answer(status, "The run has finished: discreet federate model" if over else waiting)


class _Save(_Whole, NewModel):
    """Where to."""


@takes(_Save, "model", inside=command)
def _model(request: _Save) -> Answer:
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
    return Answer(result, partial(show_run, "Trained in silos", result, model, request.out))


def open_run(agreement: AnyAgreement, store: Path, catalogue: str | None) -> AnyCoordinator:
    """The coordinator of an agreement; where features were agreed on, with the catalogue's."""
    if isinstance(agreement, PrototypeAgreement):
        return PrototypeCoordinator(store, agreement)
    if agreement.features is None:
        return Coordinator(store, agreement)
    if catalogue is None:
        raise SettingsInvalid(
            "item features were agreed on: name the file that has them with --catalogue FILE"
        )
    return Coordinator(store, agreement, features=read_catalogue(catalogue, agreement).features)


def read_catalogue(path: str, agreement: BaseAgreement) -> Catalogue:
    """The catalogue with the agreed features; it must be the agreed one."""
    catalogue = Catalogue.from_file(path, features=agreement.features)
    if catalogue.digest != agreement.catalogue:
        raise CatalogueInvalid(
            f"{path} is not the catalogue that was agreed on: the items or their order differ; "
            "get the file the agreement was made with"
        )
    return catalogue


def summary(coordinator: AnyCoordinator, model: Model) -> dict[str, Any]:
    """What the server knows about a finished run whose model nobody has been sent yet; all of it is public."""
    status, silos = coordinator.status(), model.statement.silos
    common = {
        **promised(model, status["rounds"]),
        "silos": list(status["roster"]),
        "items": model.item_side.n_items,
        "epsilon_in_two": None if silos is None else silos.epsilon_in_two,
        "bytes_up": status["bytes_up"],
        "bytes_down": status["bytes_down"],
        "model_bytes_down": 0,
        "traffic": coordinator.traffic(),
    }
    if isinstance(coordinator.agreement, PrototypeAgreement):
        prototypes = coordinator.agreement.settings.most_prototypes
        common |= {"prototypes": prototypes, "messages_up": status["messages_up"], "messages_down": 0}
    return common


def show_run(title: str, result: dict[str, Any], model: Model, out: str) -> None:
    """Print a finished run as a table, the model's statement, and where the model is."""
    show_table([(key.replace("_", " "), _text(result[key])) for key in _SHOWN if key in result], title=title)
    printer().print(str(model.statement))
    printer().print(f"Saved to {out}")


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int | float) else str(value)


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
