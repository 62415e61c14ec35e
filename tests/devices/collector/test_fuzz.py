"""Nonsense of every kind is answered with a 4xx, or by hanging up, and changes nothing."""

from __future__ import annotations

import collections
import json
import random
import socket
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import pytest

from tests.devices.support.running import CONFIG, PATIENCE, Running
from tests.sizes import sized

REQUESTS = sized(2_000, 50_000)
ODD: list[Any] = [
    None, True, -1, 0, 1.5, 1e308, 1 << 64, -(1 << 63), "", "x", "\x00", "é\ud800", "a" * 300, [], {}, [[]], "1",
]  # fmt: skip
PATHS = [
    "/v1/tasks", "/v1/tasks/absent", "/v1/tasks/films", "/v1/tasks/absent/question", "/v1/tasks/films/released/1",
    "/v1/tasks/films/released/-1", "/v1/tasks/films/released/99999999999999999999", "/v1/tasks/films/released/x",
    "/v1/tasks/films/close", "/v1/tasks/films/delete", "/v1/tasks/%00/question", "/v1/tasks/%ff%fe",
    "/v1/tasks/..%2f..%2fetc", "//", "/?a=%", "/v1/reports", "/healthz", "*", "/v1/tasks/" + "a" * 3000,
]  # fmt: skip
METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "get", "NONSENSE"]
REPORT = {"task": "absent", "round": 1, "device": "ab" * 16, "bit": 1}
WRONG_TASK = {**CONFIG, "task": "new", "seed": "not a seed"}


def a_request(pick: random.Random) -> tuple[str, str, bytes, dict[str, str]]:
    """A request that cannot be right: no task of these exists, and no task is complete."""
    kind = pick.randrange(5)
    if kind == 0:
        body = pick.randbytes(pick.choice([0, 3, 200]))
        return pick.choice(METHODS), pick.choice(PATHS), body, {"authorization": "x" * pick.choice([1, 3000])}
    if kind == 1:
        path, content = "/v1/tasks/films/close", {"round": pick.choice([1, 2, 1 << 40])}
    elif kind == 2:
        path, content = "/v1/tasks", dict(WRONG_TASK)
    else:
        path, content = "/v1/reports", dict(REPORT)
    return "POST", path, spoilt(content, pick), {"content-type": "application/json"}


def spoilt(content: dict[str, Any], pick: random.Random) -> bytes:
    for _ in range(pick.randrange(3)):
        name = pick.choice([*content, "more"])
        if name not in ("task", "seed"):
            content[name] = pick.choice(ODD)
    if pick.random() < 0.2:
        content.pop(pick.choice([name for name in content if name != "seed"]), None)
    text = json.dumps(content).encode()
    ways = (
        text[: pick.randrange(1, len(text))],
        b'{"device":"' + pick.randbytes(20) + b'"}',
        b"[" * pick.choice([10, 5000]) + b"1",
        b'{"bit": ' + b"9" * pick.choice([30, 5000]) + b"}",
    )
    return pick.choice((*ways, *[text] * 6))


@pytest.mark.timeout(300 + REQUESTS // 10)
def test_nonsense_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    with Running(tmp_path / "s.sqlite") as server:
        server.create(minimum=1_000_000)
        tables = ("tasks", "rounds", "reports")
        before = {table: server.rows(f"SELECT * FROM {table}") for table in tables}
        pick, seen = random.Random(7), collections.Counter[int]()
        wire = HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        for _ in range(REQUESTS):
            method, path, body, headers = a_request(pick)
            try:
                wire.request(method, path, body, headers)
                response = wire.getresponse()
                response.read()
            except (OSError, HTTPException):  # it hung up
                wire.close()
                continue
            assert response.status < 500, (response.status, method, path, body)
            seen[response.status] += 1
        wire.close()
        for raw in (b"\x00" * 300, b"POST /v1/reports HTTP/1.1\r\ncontent-length: -5\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", server.port)) as line:
                line.sendall(raw)
                line.shutdown(socket.SHUT_WR)
                assert line.recv(65536)[9:10] in (b"", b"4")
        assert server.process.is_alive()
        assert {table: server.rows(f"SELECT * FROM {table}") for table in tables} == before
        assert seen[422] > REQUESTS // 10
        assert seen[404] > REQUESTS // 20
        assert seen[409] > 0
