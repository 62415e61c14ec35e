"""A flood from one client is cut short, and others hardly notice."""

from __future__ import annotations

import itertools
import os
import socket
import time
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path

from tests.devices.support.load import Load
from tests.devices.support.running import PATIENCE, Running, asked_devices, body_of, is_open, wait_until
from tests.forked import FORK

RATE, BURST = 50.0, 100.0
OTHERS = 30
# How long others may wait while somebody floods; asked for on an idle machine alone (make hard).
LONGEST = float(os.environ.get("DISCREET_LONGEST_WAIT", "inf"))


def _flood(port: int, bodies: list[bytes], told: Connection, enough: Event) -> None:
    """Send without rest until told that it is enough, and say when the first report was refused."""

    def answered(body: bytes, status: int) -> None:
        nonlocal refused
        if status == 429 and not refused:
            refused = True
            told.send("refused")

    refused = False
    endless = itertools.takewhile(lambda _: not enough.is_set(), itertools.cycle(bodies))
    outcome = Load(port, connections=200, source="127.0.0.2").run(endless, answered)
    told.send((outcome.statuses, outcome.seconds))


def test_a_flood_from_one_client_does_not_stop_others(tmp_path: Path) -> None:
    """Others are served while it goes on, and the flood gets no more than its bucket holds, however long it took."""
    with Running(tmp_path / "s.sqlite", rate=RATE, burst=BURST, connections=32) as server:
        question = server.create()
        devices = asked_devices(question)
        here, there = FORK.Pipe()
        enough = FORK.Event()
        flood = [body_of(question, device, 1) for device in itertools.islice(devices, 500)]
        flooding = FORK.Process(target=_flood, args=(server.port, flood, there, enough))
        flooding.start()
        assert here.poll(PATIENCE)
        assert here.recv() == "refused"
        waits = []
        for number in range(OTHERS):
            started = time.perf_counter()
            outcome = Load(server.port, connections=1, source=f"127.0.0.{3 + number % 6}").run(
                [body_of(question, next(devices), 1)]
            )
            waits.append(time.perf_counter() - started)
            assert outcome.statuses == {200: 1}
        enough.set()
        assert here.poll(PATIENCE)
        statuses, seconds = here.recv()
        flooding.join()
        assert 0 < statuses[200] <= BURST + RATE * seconds + 1
        assert statuses[429] > 0
        assert sorted(waits)[int(0.9 * len(waits))] < LONGEST


def test_one_client_cannot_hold_all_connections(tmp_path: Path) -> None:
    with Running(tmp_path / "s.sqlite", connections=5, all_connections=50) as server:
        held = [
            socket.create_connection(("127.0.0.1", server.port), source_address=("127.0.0.2", 0))
            for _ in range(60)
        ]
        assert server.ask("GET", "/healthz")[0] == 200
        wait_until(lambda: sum(is_open(wire) for wire in held) == 5)
        for wire in held:
            wire.close()


def test_a_head_without_end_is_cut_off(tmp_path: Path) -> None:
    with Running(tmp_path / "s.sqlite") as server:
        wire = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
        sent = 0
        try:
            wire.sendall(b"GET / HTTP/1.1\r\n")
            while sent < 10_000_000:
                wire.sendall(b"x: " + b"y" * 4000 + b"\r\n")
                sent += 4000
            raise AssertionError("ten megabytes of head were taken")
        except OSError:
            pass
        finally:
            wire.close()
        assert sent < 5_000_000
