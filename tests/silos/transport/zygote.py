"""A process with everything loaded that forks parties of a run on request: real processes, started in milliseconds.

Commands come as JSON lines on stdin, one reply each. The noise has fixed keys, so nothing here is private.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet import Catalogue, Ratings
from discreet.errors import DiscreetError
from discreet.methods.budgeted.public.settings import BudgetedSettings
from discreet.methods.prototypes.private.silo import PrivatePrototypes
from discreet.methods.prototypes.public.server import build_model
from discreet.methods.prototypes.settings import FactorSettings, PrototypeSettings
from discreet.model.directory import replace_file
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.agreements import largest_message, load_agreement
from discreet.silos.shared.messages import QUESTION, QuestionMessage
from discreet.silos.shared.model_message import decode_model, encode_model
from discreet.silos.shared.prototype_agreement import PrototypeAgreement
from discreet.silos.shared.saving import save_once
from discreet.silos.shared.seal import SERVER, SigningKey
from discreet.silos.silo.silo import Silo
from discreet.silos.transport.client import Client
from discreet.silos.transport.identity import SIGNING_KEY, client_context, read_signing_key, server_context
from discreet.silos.transport.participate import participate
from discreet.silos.transport.passes import holder_of, pass_of
from discreet.silos.transport.server import Server, Terms
from discreet.silos.transport.signals import run_until_stopped
from discreet.silos.transport.signed_run import SignedRun
from discreet.silos.transport.signed_silo import SignedSilo
from tests.silos.transport import prototype_parties
from tests.silos.worlds import SERVER_KEY, Run, agree, noise_key, parts, private_key, world

USERS, ITEMS = 300, 40
LONG = (
    240.0  # seconds after which a process hangs, however busy the machine is; the tests themselves end at 300
)


class Lines:
    """Counts the lines of the silo room that a process runs, and kills it with SIGKILL at one of them."""

    def __init__(self, deadly: int) -> None:
        self.count, self._deadly = 0, deadly

    def watch(self) -> None:
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if "/discreet/silos/" in frame.f_code.co_filename else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.count += 1
            if self.count == self._deadly:
                os.kill(os.getpid(), signal.SIGKILL)
        return self._line


class LessNoise(Coordinator):
    """Asks for twice the accuracy that was agreed on."""

    def question(self) -> bytes | None:
        honest = super().question()
        if honest is None or honest[:4] != QUESTION:
            return honest
        message = QuestionMessage.decode(honest, self.agreement)
        return replace(message, question=replace(message.question, mu=2.0 * message.question.mu)).encode()


class OneMore(Coordinator):
    """Asks for a round more than was agreed on, when all are done."""

    def question(self) -> bytes | None:
        honest = super().question()
        if honest is not None:
            if honest[:4] == QUESTION:
                self._before = QuestionMessage.decode(honest, self.agreement)
            return honest
        release = self._store.asked()[-1].release
        assert release is not None
        message = replace(self._before, round=self._before.round + 1, release=release)
        return replace(message, question=replace(message.question, name="round 3")).encode()


COORDINATORS = {"honest": Coordinator, "less-noise": LessNoise, "one-more": OneMore}


def serve(
    folder: Path, tls: Path, agreement: Agreement, ratings: Ratings, *, port: int, kind: str, **options: Any
) -> None:
    catalogue = ratings.catalogue
    assert catalogue is not None

    def finish(coordinator: Coordinator) -> bytes:
        model = coordinator.model(catalogue)
        save_once(model, folder / "model", overwrite=False)
        return encode_model(model, agreement)

    fixed = SERVER_KEY if agreement.noise == "server" else None
    begin = partial(COORDINATORS[kind], folder / "server.db", agreement, fixed_noise_key_not_private=fixed)
    key = SigningKey(agreement, SERVER, read_signing_key(tls / "server" / SIGNING_KEY))
    largest, fewest = largest_message(agreement), agreement.smallest_roster
    terms = Terms(agreement.run_id, fewest, largest, **options)
    with socket.create_server(("127.0.0.1", port), backlog=64) as listening:
        server = Server(
            lambda: SignedRun(begin(), agreement, key),
            lambda signed: key.seal("model", finish(signed.run)),
            terms,
            server_context(tls / "server"),
            partial(holder_of, agreement),
        )
        run_until_stopped(server.run(listening))


def take_part(folder: Path, tls: Path, agreement: Agreement, ratings: Ratings, name: str, port: int) -> None:
    catalogue = ratings.catalogue
    assert catalogue is not None
    context = client_context(tls / "silos" / name)
    signing = SigningKey(agreement, name, read_signing_key(tls / "silos" / name / SIGNING_KEY))
    client = Client(
        f"https://localhost:{port}",
        agreement.run_id,
        largest_message(agreement),
        context,
        pass_of(signing),
        patience=LONG,
    )
    part = dict(zip(agreement.roster, parts(ratings, len(agreement.roster)), strict=True))[name]
    key = noise_key(name)
    with Silo(
        folder / f"{name}.db",
        agreement,
        name,
        private_key(name),
        part,
        fixed_noise_key_not_private=key,
        signing=signing,
    ) as silo:

        def finish(body: bytes) -> None:
            model = decode_model(signed.model(body), agreement, catalogue)
            save_once(model, folder / f"{name}-model", overwrite=False)
            account = silo.statement().to_json().encode()
            replace_file(folder / f"{name}.json", lambda file: file.write(account), private=True)

        signed = SignedSilo(silo, signing)
        participate(signed, client, finish)


def prototype_party(
    folder: Path, tls: Path, agreement: PrototypeAgreement, ratings: Ratings, order: dict[str, Any]
) -> None:
    name, port, options = order["name"], order["port"], order["options"]
    if name == "server":
        prototype_parties.serve(folder, tls, agreement, ratings, port=port, **options)
    else:
        prototype_parties.take_part(folder, tls, agreement, ratings, name, port=port, kind=options["kind"])


def party(order: dict[str, Any], ratings: Ratings) -> int:
    """The life of a forked process; its exit code."""
    folder, tls, name = Path(order["folder"]), Path(order["tls"]), str(order["name"])
    log = os.open(folder / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    faulthandler.register(signal.SIGUSR1)
    lines = Lines(order["deadly"])
    if order["deadly"]:  # to watch makes everything slower
        lines.watch()
    try:
        agreement = load_agreement(folder / "agreement.json")
        if isinstance(agreement, PrototypeAgreement):
            prototype_party(folder, tls, agreement, ratings, order)
        elif name == "server":
            serve(folder, tls, agreement, ratings, port=order["port"], **order["options"])
        else:
            take_part(folder, tls, agreement, ratings, name, order["port"])
    except DiscreetError as error:
        os.write(2, f"{error}\n".encode())
        return 2
    except BaseException:
        os.write(2, traceback.format_exc().encode())
        return 1
    finally:
        sys.settrace(None)
        threading.settrace(None)
    (folder / f"{name}.lines").write_text(str(lines.count))
    return 0


def wait(pid: int, seconds: float) -> int | None:
    """Exit code of a forked process, minus the signal's number if one ended it; ``None`` while it runs."""
    until = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= until:
            return None
        time.sleep(0.005)


class Columns(NamedTuple):
    """Ratings without anything of polars in it: its threads do not survive a fork."""

    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]
    user_ids: npt.NDArray[np.int64]
    catalogue: list[Any]
    rating_range: tuple[float, float] | None

    def ratings(self) -> Ratings:
        return Ratings(*self[:4], Catalogue(self.catalogue), self.rating_range)


def columns() -> Columns:
    """The ratings, made in a process that ends before the first party starts."""
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        return pool.submit(_columns).result()


def _columns() -> Columns:
    made = world(users=USERS, items=ITEMS)
    assert made.catalogue is not None
    compile_all(made)
    ids = made.catalogue.ids.tolist()
    return Columns(made.indptr, made.items, made.values, made.user_ids, ids, made.rating_range)


def compile_all(ratings: Ratings) -> None:
    """Use what the parties use: they find its machine code on the disk, and do not all compile it at once."""
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder), ratings, agree(ratings, 3, settings=BudgetedSettings(rank=2, rounds=2)))
        run.finish()
        run.close()
    assert ratings.catalogue is not None
    method = PrivatePrototypes(
        PrototypeSettings.from_preset("swap", prototypes=4, users=100, dimension=4, support=10)
    )
    build_model([method.message(ratings, 20.0)], ratings.catalogue, FactorSettings(rank=3, rounds=5), 0)


def main(made: Columns) -> None:
    for line in sys.stdin:
        order = json.loads(line)
        if "pid" in order:
            reply: Any = wait(order["pid"], order["seconds"])
        else:
            reply = os.fork()
            if reply == 0:
                os._exit(party(order, made.ratings()))
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(columns())
