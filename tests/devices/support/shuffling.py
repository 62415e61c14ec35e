"""A real shuffler in a process of its own, between devices and a real collector."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from discreet.devices.device.client import Cost, answer_round, join
from discreet.devices.device.store import DeviceStore
from discreet.devices.device.transport import Connection
from tests.devices.support.running import CONFIG, PATIENCE, Running, wait_until
from tests.forked import FORK
from tests.ports import free_port

__all__ = ["SHUFFLE", "Shuffling", "make_devices", "start_task"]

SHUFFLE = {"batch": 2, "delta": 1e-6}


def _serve(settings: dict[str, Any], told: Any) -> None:
    from discreet.devices.shuffler.serve import serve
    from discreet.devices.shuffler.settings import ShufflerSettings

    serve(ShufflerSettings(**settings), told.send)


class Shuffling:
    """Started on entry, ended on exit; ``kill`` and ``start`` in between."""

    def __init__(self, folder: Path, collector: Running, **settings: Any) -> None:
        self.store = folder / "shuffler.sqlite"
        self.settings = {
            "store": self.store,
            "own_key": folder / "shuffler.key",
            "collector": collector.url,
            "port": free_port(),
            "rate": 0.0,
            "connections": 2000,
            "batch": 2,
            "every": 0.0,
            "tick": 0.02,
            **settings,
        }
        self.port: int = self.settings["port"]

    def __enter__(self) -> Shuffling:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self.process.pid or 0, signal.SIGTERM)
        self.process.join(PATIENCE)
        assert not self.process.is_alive()

    def start(self) -> None:
        here, there = FORK.Pipe()
        self.process = FORK.Process(target=_serve, args=(self.settings, there))
        self.process.start()
        assert here.poll(PATIENCE), "the shuffler did not start"
        self.url = here.recv()

    def kill(self) -> None:
        os.kill(self.process.pid or 0, signal.SIGKILL)
        self.process.join(PATIENCE)

    def ask(
        self, method: str, path: str, content: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        wire = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        given = {} if content is None else {"content-type": "application/json"}
        try:
            body = None if content is None else json.dumps(content).encode()
            wire.request(method, path, body, {**given, **(headers or {})})
            response = wire.getresponse()
            return response.status, response.read()
        finally:
            wire.close()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.store)) as connection:
            return connection.execute(query).fetchall()

    def wait_for(self, number: int, task: str = "films") -> None:
        """Until devices are asked this round."""

        def asked() -> bool:
            status, body = self.ask("GET", f"/v1/tasks/{task}/question")
            return status == 200 and json.loads(body)["round"] == number

        wait_until(asked)


def start_task(collector: Running, **changes: Any) -> str:
    """A shuffled task; gives the collector's key."""
    config = {**CONFIG, "minimum": 1, "shuffle": SHUFFLE, **changes}
    status, body = collector.ask("POST", "/v1/tasks", config)
    assert status == 201, body
    return str(json.loads(body)["collector_key"])


class Device:
    """A real device with a file of its own."""

    def __init__(
        self, file: Path, url: str, key: str, ratings: dict[int, float], task: str = "films"
    ) -> None:
        self.file, self.url, self.task = file, url, task
        with DeviceStore(file) as store, Connection(url) as connection:
            store.rate(ratings)
            join(store, connection, task, 100.0, collector_key=key)
            self.name = store.device(task)

    def answer(self) -> Cost:
        with DeviceStore(self.file) as store, Connection(self.url, seconds=PATIENCE) as connection:
            return answer_round(store, connection, self.task, pace=0.0)


def make_devices(folder: Path, shuffler: Shuffling, key: str, count: int) -> list[Device]:
    """Devices with ratings of their own, all joined."""
    made = []
    for number in range(count):
        ratings = {number % 40: 5.0, (number + 3) % 40: 1.0, (number + 7) % 40: 2.0}
        made.append(Device(folder / f"device-{number}.sqlite", shuffler.url, key, ratings))
    return made
