"""A real service in a process of its own, forked from one that has imported everything already."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import time
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from discreet.model import Model
from tests.forked import FORK

PATIENCE = 120.0
"""Seconds after which something that must happen is taken for hung; on a busy machine all of it takes long."""


def _serve(settings: dict[str, Any], told: Connection, log: str) -> None:
    written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(written, 1)
    os.dup2(written, 2)
    from discreet.web.service import ServiceSettings, serve

    serve(ServiceSettings(**settings), told.send)
    sys.stderr.flush()


class Running:
    """Started on entry, ended on exit; what it writes to stdout and stderr is in ``log``."""

    def __init__(self, model: Path, **settings: Any) -> None:
        self.settings = {"port": 0, "watch": 0.0, **settings, "model": model}
        self.log_file = model.parent / "service.log"

    def __enter__(self) -> Running:
        Model.load(self.settings["model"]).recommend({})  # compiles here what the service would wait for
        here, there = FORK.Pipe()
        self.process = FORK.Process(target=_serve, args=(self.settings, there, str(self.log_file)))
        self.process.start()
        assert here.poll(PATIENCE), "the service did not start"
        self.url: str = here.recv()
        self.port = int(self.url.rpartition(":")[2])
        return self

    def __exit__(self, *_: object) -> None:
        self.signal(signal.SIGTERM)
        self.process.join(PATIENCE)
        assert not self.process.is_alive()

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.process.pid or 0, number)

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def ask(
        self, method: str, path: str, content: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        with contextlib.closing(HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)) as wire:
            given = {"content-type": "application/json"} if content is not None else {}
            body = content if isinstance(content, bytes | None) else json.dumps(content).encode()
            wire.request(method, path, body, {**given, **(headers or {})})
            response = wire.getresponse()
            return response.status, response.read()

    def get(self, path: str, headers: dict[str, str] | None = None) -> Any:
        status, body = self.ask("GET", path, headers=headers)
        assert status == 200, body
        return json.loads(body)

    def recommend(self, **content: Any) -> Any:
        status, body = self.ask("POST", "/recommend", content)
        assert status == 200, body
        return json.loads(body)


def wait_until(holds: Any, seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)
