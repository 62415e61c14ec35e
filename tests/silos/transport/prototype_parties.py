"""The parties of a run of prototypes, as forked processes live them. The noise has fixed keys unless it is fresh."""

from __future__ import annotations

import json
import socket
from functools import partial
from http.client import HTTPMessage
from pathlib import Path
from typing import Any

from discreet import Ratings
from discreet.model.directory import replace_file
from discreet.silos.server.prototype_coordinator import PrototypeCoordinator
from discreet.silos.server.server_run import ServerRun
from discreet.silos.shared.agreements import largest_message
from discreet.silos.shared.prototype_agreement import PrototypeAgreement
from discreet.silos.shared.seal import SERVER, SigningKey
from discreet.silos.silo.prototype_silo import PrototypeSilo
from discreet.silos.silo.silo_run import SiloRun
from discreet.silos.transport.client import Client
from discreet.silos.transport.identity import (
    SIGNING_KEY,
    client_context,
    read_signing_key,
    server_context,
)
from discreet.silos.transport.participate import participate
from discreet.silos.transport.passes import holder_of, pass_of
from discreet.silos.transport.server import Server, Terms
from discreet.silos.transport.signals import run_until_stopped
from discreet.silos.transport.signed_run import SignedRun
from discreet.silos.transport.signed_silo import SignedSilo
from tests.silos.worlds import noise_key, parts


class Asks(PrototypeCoordinator):
    """Asks for more than was agreed on."""

    def question(self) -> bytes | None:
        return b'{"epsilon": 100.0}' if super().question() is not None else None


COORDINATORS = {"honest": PrototypeCoordinator, "fresh": PrototypeCoordinator, "asks": Asks}


class Wire(Client):
    """Writes down what went over the line: the request, bytes up, bytes down."""

    record: Path

    def _request(self, method: str, what: str, body: bytes | None) -> tuple[int, HTTPMessage, bytes]:
        status, headers, content = super()._request(method, what, body)
        with self.record.open("a") as file:
            file.write(json.dumps([what.partition("?")[0], len(body or b""), len(content)]) + "\n")
        return status, headers, content


def serve(
    folder: Path,
    tls: Path,
    agreement: PrototypeAgreement,
    ratings: Ratings,
    *,
    port: int,
    kind: str,
    **options: Any,
) -> None:
    assert ratings.catalogue is not None
    run = ServerRun(agreement, ratings.catalogue, folder / "server.db", folder / "model", force=False)
    begin = partial(COORDINATORS[kind], folder / "server.db", agreement)
    key = SigningKey(agreement, SERVER, read_signing_key(tls / "server" / SIGNING_KEY))
    terms = Terms(agreement.run_id, 1, largest_message(agreement), **options)
    with socket.create_server(("127.0.0.1", port), backlog=64) as listening:
        server = Server(
            lambda: SignedRun(begin(), agreement, key),
            lambda signed: key.seal("model", run.finish(signed.run)),  # type: ignore[arg-type]
            terms,
            server_context(tls / "server"),
            partial(holder_of, agreement),
        )
        run_until_stopped(server.run(listening))


def take_part(
    folder: Path,
    tls: Path,
    agreement: PrototypeAgreement,
    ratings: Ratings,
    name: str,
    *,
    port: int,
    kind: str,
) -> None:
    context = client_context(tls / "silos" / name)
    signing = SigningKey(agreement, name, read_signing_key(tls / "silos" / name / SIGNING_KEY))
    client = Wire(
        f"https://localhost:{port}",
        agreement.run_id,
        largest_message(agreement),
        context,
        pass_of(signing),
        patience=240.0,
    )
    client.record = folder / f"{name}.wire"
    part = dict(zip(agreement.roster, parts(ratings, len(agreement.roster)), strict=True))[name]
    key = None if kind == "fresh" else noise_key(name)
    assert ratings.catalogue is not None
    store = folder / f"{name}.db"
    run = SiloRun(agreement, ratings.catalogue, store, folder / f"{name}-model")
    with PrototypeSilo(store, agreement, name, part, fixed_noise_key_not_private=key) as silo:

        def finish(body: bytes) -> None:
            run.finish(silo, signed.model(body))
            own = silo.statement()
            account = b"" if own is None else own.to_json().encode()
            replace_file(folder / f"{name}.json", lambda file: file.write(account), private=True)

        signed = SignedSilo(silo, signing)
        participate(signed, client, finish)
