"""``discreet federate server``, ``drop`` and ``finish``: the machine that adds up what the silos send.

Nothing that can read ratings is loaded for it.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from discreet.catalogue import Catalogue
from discreet.cli.federate.output import Teller, position, show_run, summary
from discreet.cli.output import Output, print_json, printer
from discreet.cli.request import option, takes
from discreet.errors import CatalogueInvalid, SettingsInvalid, Unreachable
from discreet.model.saving import save_once
from discreet.model.storage import check_target
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.server.prototypes import PrototypeCoordinator
from discreet.silos.server.server import Server, listen, url_of
from discreet.silos.shared.agreement import AnyAgreement, BaseAgreement, PrototypeAgreement, load_agreement
from discreet.silos.shared.keys import SIGNING_KEY, read_signing_key, server_context
from discreet.silos.shared.outcome import encode_model
from discreet.silos.shared.signing import SERVER, SigningKey

__all__ = ["AtServer", "drop_command", "finish_command", "read_catalogue", "server_command"]


class AtServer(Output):
    """What the server's commands need to go on with a run."""

    agreement: str = option("What was agreed.", metavar="FILE")
    store: str = option("Where the run is kept; goes on from there after a stop.", metavar="FILE")
    catalogue: str | None = option(
        "Public list of items; needed where item features were agreed on.", metavar="FILE"
    )

    def open(self, agreement: AnyAgreement, *, begun: bool) -> Coordinator | PrototypeCoordinator:
        """The coordinator; where the run must have begun, a mistyped name does not begin another."""
        if begun and not Path(self.store).is_file():
            raise SettingsInvalid(
                f"there is no store {self.store}; a run begins with 'discreet federate server', by hand with 'export' "
                "(for prototypes with 'import')"
            )
        if isinstance(agreement, PrototypeAgreement):
            return PrototypeCoordinator(Path(self.store), agreement)
        if agreement.features is None:
            return Coordinator(Path(self.store), agreement)
        if self.catalogue is None:
            raise SettingsInvalid(
                "item features were agreed on: name the file that has them with --catalogue FILE"
            )
        features = read_catalogue(self.catalogue, agreement).features
        return Coordinator(Path(self.store), agreement, features=features)


class _Serve(AtServer):
    """What `server` can be asked."""

    catalogue: str = option("Public list of items (CSV, Parquet, NDJSON or text).", metavar="FILE")
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
    out: str = option("Directory to put the model into.", metavar="DIR")
    force: bool = option("Replace a model that is already there.")


class _Drop(AtServer):
    """What `drop` can be asked."""

    silos: tuple[str, ...] = option(
        "A silo to go on without; repeatable, and cheaper together.", name="--silo"
    )


@takes(_Serve, "server")
def server_command(request: _Serve) -> None:
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
    if request.as_json:
        print_json(result)
    else:
        show_run("Trained in silos", result, model, request.out)


@takes(_Drop, "drop")
def drop_command(request: _Drop) -> None:
    """Go on without silos that have left: the current round is asked again of the others.

    Stop the server first. The others are charged for the round a second time, once however many silos are dropped
    together, and their statements say so; with prototypes nobody is charged. A silo that was dropped cannot come
    back into this run.

    \b
    Example:
      discreet federate drop --agreement agreement.json --store run.sqlite --silo north --silo east
    """
    agreed = load_agreement(request.agreement)
    with request.open(agreed, begun=True) as run:
        run.drop(*request.silos)
        status = run.status()
    Teller(agreed, request.store).note(status)
    if request.as_json:
        print_json(status)
    else:
        printer().print(f"Going on with {', '.join(status['roster'])}; start the server again.")


@takes(AtServer, "finish")
def finish_command(request: AtServer) -> None:
    """End a run early with what has been released so far, where too few silos are left to go on or it has failed.

    Stop the server first; start it again afterwards to save the model and tell the silos, or save it with 'model'.
    With prototypes the model is made of the messages that have come.

    \b
    Example:
      discreet federate finish --agreement agreement.json --store run.sqlite
    """
    agreed = load_agreement(request.agreement)
    with request.open(agreed, begun=True) as run:
        run.finish_early()
        status = run.status()
    Teller(agreed, request.store).note(status)
    if request.as_json:
        print_json(status)
    else:
        printer().print(f"Ended after {status['round']} rounds; start the server again.")


def read_catalogue(path: str, agreement: BaseAgreement) -> Catalogue:
    """The catalogue with the agreed features; it must be the agreed one."""
    catalogue = Catalogue.from_file(path, features=agreement.features)
    if catalogue.digest != agreement.catalogue:
        raise CatalogueInvalid(
            f"{path} is not the catalogue that was agreed on: the items or their order differ; "
            "get the file the agreement was made with"
        )
    return catalogue
