"""A flood from one client is cut short, and others hardly notice."""

from __future__ import annotations

import itertools
import socket
import time
from pathlib import Path
from typing import Any

from tests.devices.support.load import Load
from tests.devices.support.running import FORK, Running, asked_devices, body_of, is_open

SECONDS = 4.0
RATE, BURST = 50.0, 100.0


def _flood(port: int, bodies: list[bytes], told: Any) -> None:
    load = Load(port, connections=200, source="127.0.0.2", seconds=SECONDS + 1.0)
    told.send(load.run(itertools.cycle(bodies)).statuses)


def test_a_flood_from_one_client_does_not_stop_others(tmp_path: Path) -> None:
    with Running(tmp_path / "s.sqlite", rate=RATE, burst=BURST, connections=32) as server:
        question = server.create()
        devices = asked_devices(question)
        here, there = FORK.Pipe()
        flood = [body_of(question, device, 1) for device in itertools.islice(devices, 500)]
        flooding = FORK.Process(target=_flood, args=(server.port, flood, there))
        flooding.start()
        time.sleep(0.5)
        waits = []
        end = time.monotonic() + SECONDS - 1.0
        for client in itertools.cycle(range(3, 9)):
            if time.monotonic() > end:
                break
            started = time.perf_counter()
            outcome = Load(server.port, connections=1, source=f"127.0.0.{client}").run(
                [body_of(question, next(devices), 1)]
            )
            waits.append(time.perf_counter() - started)
            assert outcome.statuses == {200: 1}
            time.sleep(0.03)
        assert here.poll(60)
        statuses = here.recv()
        flooding.join()
        assert 0 < statuses[200] <= BURST + RATE * (SECONDS + 3.0)
        assert len(waits) > 10
        assert sorted(waits)[int(0.9 * len(waits))] < 0.5


def test_one_client_cannot_hold_all_connections(tmp_path: Path) -> None:
    with Running(tmp_path / "s.sqlite", connections=5, all_connections=50) as server:
        held = [
            socket.create_connection(("127.0.0.1", server.port), source_address=("127.0.0.2", 0))
            for _ in range(60)
        ]
        assert server.ask("GET", "/healthz")[0] == 200
        time.sleep(0.2)
        assert sum(is_open(wire) for wire in held) == 5
        for wire in held:
            wire.close()


def test_a_head_without_end_is_cut_off(tmp_path: Path) -> None:
    with Running(tmp_path / "s.sqlite") as server:
        wire = socket.create_connection(("127.0.0.1", server.port), timeout=10)
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
