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
import traceback
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any

from discreet import Ratings
from discreet.errors import DiscreetError
from discreet.methods.budgeted.public.constants import BudgetedSettings
from discreet.methods.prototypes.private.silo import PrivatePrototypes
from discreet.methods.prototypes.public.server import build_model
from discreet.methods.prototypes.settings import FactorSettings, PrototypeSettings
from discreet.model.directory import replace_file
from discreet.model.folder import save_once
from discreet.privacy.pure.noise import PureNoise
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.server.prototypes import PrototypeCoordinator
from discreet.silos.server.server import Server
from discreet.silos.shared.agreement import AnyAgreement, PrototypeAgreement, load_agreement
from discreet.silos.shared.keys import SIGNING_KEY, client_context, read_signing_key, server_context
from discreet.silos.shared.outcome import encode_model
from discreet.silos.shared.signing import SERVER, SigningKey
from discreet.silos.silo.client import Client, participate
from discreet.silos.silo.prototypes import PrototypeSilo
from discreet.silos.silo.silo import Silo
from tests.silos.worlds import FixedCoordinator, FixedSilo, Run, agree, noise_key, parts, private_key, world
from tests.zygotes import Columns, wait

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


def serve(
    folder: Path, tls: Path, agreement: AnyAgreement, ratings: Ratings, *, port: int, **options: Any
) -> None:
    catalogue = ratings.catalogue
    assert catalogue is not None
    key = SigningKey(agreement, SERVER, read_signing_key(tls / "server" / SIGNING_KEY))
    run: Coordinator | PrototypeCoordinator
    if isinstance(agreement, PrototypeAgreement):
        run = PrototypeCoordinator(folder / "server.db", agreement)
    else:
        run = FixedCoordinator(folder / "server.db", agreement)

    def finish() -> bytes:
        model = run.model(catalogue)
        save_once(model, folder / "model", overwrite=False)
        return encode_model(model, agreement)

    with socket.create_server(("127.0.0.1", port), backlog=64) as listening, run:
        Server(run, key, finish, **options).serve(listening, server_context(tls / "server"))


def take_part(
    folder: Path, tls: Path, agreement: AnyAgreement, ratings: Ratings, name: str, port: int
) -> None:
    catalogue = ratings.catalogue
    assert catalogue is not None
    context = client_context(tls / "silos" / name)
    key = SigningKey(agreement, name, read_signing_key(tls / "silos" / name / SIGNING_KEY))
    client = Client(f"https://localhost:{port}", key, context, patience=LONG)
    part = dict(zip(agreement.roster, parts(ratings, len(agreement.roster)), strict=True))[name]
    store = folder / f"{name}.db"
    silo: Silo | PrototypeSilo
    if isinstance(agreement, PrototypeAgreement):
        silo = PrototypeSilo(store, agreement, name, part)
        silo._noise = PureNoise.fixed_key_not_private(noise_key(name))
    else:
        silo = FixedSilo(store, agreement, name, private_key(name), part, signing=key)
    with silo:

        def finish(body: bytes) -> None:
            silo.finish(body, catalogue, folder / f"{name}-model")
            stated = silo.paid()
            account = b"" if stated is None else stated.to_json().encode()
            replace_file(folder / f"{name}.json", lambda file: file.write(account), private=True)

        participate(silo, key, client, finish)


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
        if name == "server":
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
