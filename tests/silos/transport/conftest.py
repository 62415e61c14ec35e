"""Parties of a run as real processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from discreet.methods.budgeted.public.constants import BudgetedSettings
from discreet.silos.shared.agreement import AnyAgreement
from discreet.silos.shared.keys import PublicKeys, make_authority, read_signing_key
from discreet.silos.shared.signing import SigningKey
from tests.ports import free_port
from tests.silos.transport.zygote import ITEMS, LONG, USERS
from tests.silos.worlds import agree, names, world

ROOT = Path(__file__).parents[3]
SILOS = names(3)


class Zygote:
    """Starts processes and waits for them."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.silos.transport.zygote"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, **order: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def end(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(LONG)
        self._process.stdout.close()


@dataclass
class Hall:
    """One run: a folder, a port, and the processes that are at it."""

    zygote: Zygote
    folder: Path
    tls: Path
    agreement: AnyAgreement
    port: int = field(default_factory=free_port)
    pids: dict[str, int] = field(default_factory=dict)

    def start(self, name: str, *, deadly: int = 0, **options: Any) -> None:
        """Start a party; ``deadly`` is the line at which it is killed, 0 for never. Options are the server's."""
        order = {"folder": str(self.folder), "tls": str(self.tls), "port": self.port, "deadly": deadly}
        terms = {"linger": LONG, "drop_after": None, **options}
        self.pids[name] = self.zygote.ask(name=name, options=terms, **order)

    def start_all(self, **options: Any) -> None:
        for name in ("server", *SILOS):
            self.start(name, **options)

    def kill(self, name: str) -> None:
        os.kill(self.pids[name], signal.SIGKILL)

    def wait(self, name: str, seconds: float = LONG) -> int | None:
        """Exit code, or ``None`` while it runs."""
        code: int | None = self.zygote.ask(pid=self.pids[name], seconds=seconds)
        if code is not None:
            del self.pids[name]
        return code

    def end(self) -> None:
        for name in list(self.pids):
            self.kill(name)
            self.wait(name)

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def model(self, name: str = "model") -> dict[str, bytes]:
        """Every file of a saved model."""
        return {path.name: path.read_bytes() for path in sorted((self.folder / name).iterdir())}

    def accounts(self) -> dict[str, str]:
        """Each silo's statement."""
        return {name: (self.folder / f"{name}.json").read_text() for name in SILOS}

    def wait_until_it_listens(self) -> None:
        until = time.monotonic() + LONG
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.01)
            else:
                return
        raise AssertionError(self.log("server"))


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    process = Zygote()
    yield process
    process.end()


def signing(tls: Path) -> dict[str, Any]:
    """The silos' and the server's signing keys in a test authority's folder, for an agreement."""
    public = PublicKeys.read(tls / "keys.json")
    return {"signing_keys": {name: public.signing[name] for name in SILOS}, "server_key": public.server}


def key_in(folder: Path, agreement: AnyAgreement, name: str) -> SigningKey:
    """The signing key in a ``--tls`` folder."""
    return SigningKey(agreement, name, read_signing_key(folder / "signing.key"))


@pytest.fixture(scope="session")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A test authority's folder for the silos and for somebody else."""
    folder = tmp_path_factory.mktemp("authority") / "tls"
    make_authority(folder, [*SILOS, "stranger"])
    return folder


class Halls:
    """Makes runs of the same ratings, each in a folder of its own."""

    def __init__(self, zygote: Zygote, tls: Path, folder: Path) -> None:
        self._zygote, self.tls, self._folder = zygote, tls, folder
        self.ratings = world(users=USERS, items=ITEMS)
        self.made: list[Hall] = []

    def __call__(self, **changes: Any) -> Hall:
        options = {"settings": BudgetedSettings(rank=2, rounds=2)} | changes
        return self.open(agree(self.ratings, len(SILOS), **signing(self.tls), **options))

    def open(self, agreement: AnyAgreement) -> Hall:
        folder = self._folder / str(len(self.made))
        folder.mkdir()
        agreement.save(folder / "agreement.json")
        self.made.append(Hall(self._zygote, folder, self.tls, agreement))
        return self.made[-1]


@pytest.fixture(scope="session")
def halls(zygote: Zygote, tls: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Halls]:
    made = Halls(zygote, tls, tmp_path_factory.mktemp("halls"))
    yield made
    for hall in made.made:
        hall.end()


@pytest.fixture(scope="session")
def undisturbed(halls: Halls) -> Hall:
    """A whole run, with noise in shares, in which nothing went wrong."""
    return calm(halls())


def calm(hall: Hall) -> Hall:
    """The run when nothing goes wrong; its lines are counted."""
    hall.start_all(deadly=-1)
    for name in (*SILOS, "server"):
        assert hall.wait(name) == 0, hall.log(name)
    return hall
