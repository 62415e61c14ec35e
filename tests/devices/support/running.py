"""A real collector in a process of its own, forked from one that has imported everything already."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import resource
import signal
import sqlite3
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from discreet.devices.device.answer import answer
from discreet.devices.device.question import Question
from tests.forked import FORK
from tests.ports import free_port

PATIENCE = 180.0
"""Seconds after which something that must happen is taken for hung; on a busy machine all of it takes long."""
SEED = "ab" * 32
# A plain list: a catalogue's frame would start threads here, and processes forked from this one would wait for them.
IDS = [f"film-{number}" for number in range(40)]
DIGEST = hashlib.sha256(json.dumps(IDS).encode()).hexdigest()
CONFIG: dict[str, Any] = {
    "task": "films",
    "catalogue": {"ids": IDS, "titles": [f"The film number {number}" for number in range(40)]},
    "range": [1.0, 5.0],
    "epsilon": 4.0,
    "minimum": 5,
    "seed": SEED,
    "settings": {"goal": "rate", "groups": 2, "passes": 1},
}


def _serve(settings: dict[str, Any], told: Connection, largest_file: int | None, log: Path | None) -> None:
    if log is not None:
        sys.stderr = log.open("a")
    if largest_file is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
    from discreet.devices.collector.app import CollectorSettings, serve

    serve(CollectorSettings(**settings), told.send)


class Running:
    """Started on entry, ended on exit; ``kill`` and ``start`` in between."""

    def __init__(
        self, store: Path, *, largest_file: int | None = None, log: Path | None = None, **settings: Any
    ) -> None:
        self._largest_file, self._log = largest_file, log
        settings = settings if log is None else {**settings, "log": True}
        self.settings = {"port": free_port(), **settings, "store": store}
        self.port: int = self.settings["port"]
        self.store = store

    def __enter__(self) -> Running:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self.process.pid or 0, signal.SIGTERM)
        self.process.join(PATIENCE)
        assert not self.process.is_alive()

    def start(self) -> None:
        here, there = FORK.Pipe()
        self.process = FORK.Process(target=_serve, args=(self.settings, there, self._largest_file, self._log))
        self.process.start()
        assert here.poll(PATIENCE), "the collector did not start"
        self.url = here.recv()

    def kill(self) -> None:
        os.kill(self.process.pid or 0, signal.SIGKILL)
        self.process.join(PATIENCE)

    def ask(
        self, method: str, path: str, content: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        wire = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        given = {"content-type": "application/json"} if content is not None else {}
        body = content if isinstance(content, bytes | None) else json.dumps(content).encode()
        try:
            wire.request(method, path, body, {**given, **(headers or {})})
            response = wire.getresponse()
            return response.status, response.read()
        finally:
            wire.close()

    def create(self, **changes: Any) -> Question:
        status, body = self.ask("POST", "/v1/tasks", {**CONFIG, **changes})
        assert status == 201, body
        return Question.from_json(json.dumps(json.loads(body)["question"]))

    def question(self, task: str = "films") -> Question:
        status, body = self.ask("GET", f"/v1/tasks/{task}/question")
        assert status == 200, body
        return Question.from_json(body)

    def report(self, device: bytes, bit: int, number: int = 1, task: str = "films") -> tuple[int, bytes]:
        content = {"task": task, "round": number, "device": device.hex(), "bit": bit}
        return self.ask("POST", "/v1/reports", content)

    def close(self, number: int = 1, task: str = "films") -> tuple[int, bytes]:
        return self.ask("POST", f"/v1/tasks/{task}/close", {"round": number})

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.store)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def write(self, statement: str) -> None:
        """Change the store of a collector that is not running."""
        with contextlib.closing(sqlite3.connect(self.store)) as connection, connection:
            connection.execute(statement)

    def kept(self, number: int = 1) -> dict[bytes, int]:
        return dict(self.rows(f"SELECT device, bit FROM reports WHERE round = {number}"))


def asked_devices(question: Question) -> Iterator[bytes]:
    """Pseudonyms of devices that the question is for."""
    while True:
        device = os.urandom(16)
        if question.takes_part(device):
            yield device


def all_like(server: Running, item: int, number: int = 1, count: int = 60) -> None:
    """Reports of devices that have rated nothing but one item, to a question about popularity."""
    question = server.question()
    for device in itertools.islice(asked_devices(question), count):
        assert server.report(device, answer(question, {item: 5.0}, device), number)[0] == 200


def body_of(question: Question, device: bytes, bit: int) -> bytes:
    content = {"task": question.task, "round": question.round, "device": device.hex(), "bit": bit}
    return json.dumps(content, separators=(",", ":")).encode()


def wait_until(holds: Any, seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)
