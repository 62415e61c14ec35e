"""Nonsense of every kind is answered with a 4xx, or by hanging up, and changes nothing."""

from __future__ import annotations

import collections
import json
import random
import re
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.devices.support.running import CONFIG, PATIENCE, Running
from tests.sizes import sized

REQUESTS = sized(5_000, 100_000)
SEED = 7
ODD: list[Any] = [
    None, True, -1, 0, 1.5, 1e308, 1 << 64, -(1 << 63), "", "x", "\x00", "é\ud800", "a" * 300, [], {}, [[]], "1",
]  # fmt: skip
PATHS = [
    "/v1/tasks", "/v1/tasks/absent", "/v1/tasks/films", "/v1/tasks/absent/question", "/v1/tasks/films/released/1",
    "/v1/tasks/films/released/-1", "/v1/tasks/films/released/99999999999999999999", "/v1/tasks/films/released/x",
    "/v1/tasks/films/close", "/v1/tasks/%00/question", "/v1/tasks/%ff%fe", "/v1/tasks/..%2f..%2fetc", "//", "/?a=%",
    "/v1/reports", "/healthz", "*", "http://[::1", "/v1/tasks/" + "a" * 3000, "/\u00e9",
]  # fmt: skip
METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "NONSENSE"]


class _Fuzzer:
    """Makes requests that cannot be right: no task of theirs exists, and no task is complete."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._complete = True

    def request(self) -> tuple[bytes, bool]:
        """A request, and whether the server can see its end."""
        self._complete = True
        kinds = [self._report, self._report, self._task, self._close, self._any, self._raw]
        return self._random.choice(kinds)(), self._complete

    def _report(self) -> bytes:
        content: dict[str, Any] = {"task": "absent", "round": 1, "device": "ab" * 16, "bit": 1}
        return self._post("/v1/reports", self._spoil(content))

    def _task(self) -> bytes:
        return self._post("/v1/tasks", self._spoil({**CONFIG, "task": "new", "seed": "not a seed"}))

    def _close(self) -> bytes:
        return self._post(
            "/v1/tasks/films/close", self._spoil({"round": self._random.choice([1, 2, 1 << 40])})
        )

    def _any(self) -> bytes:
        method, path = self._random.choice(METHODS), self._random.choice(PATHS)
        body = self._random.randbytes(self._random.choice([0, 0, 3, 200]))
        return self._http(method, path, body, self._headers())

    def _raw(self) -> bytes:
        self._complete = False
        start = self._random.choice(
            [b"", b"GET / HTTP/1.1\r\n", b"POST /v1/reports HTTP/1.1\r\ncontent-length: 5\r\n"]
        )
        return start + self._random.randbytes(self._random.randrange(1, 300))

    def _spoil(self, content: dict[str, Any]) -> bytes:
        pick = self._random
        for _ in range(pick.randrange(3)):
            name = pick.choice([*content, "more"])
            if name not in ("task", "seed"):
                content[name] = pick.choice(ODD)
        if pick.random() < 0.2:
            content.pop(pick.choice([name for name in content if name != "seed"]), None)
        text = json.dumps(content).encode()
        chance = pick.random()
        if chance < 0.15:
            text = text[: pick.randrange(len(text))]
        elif chance < 0.3:
            text = b'{"device":"' + pick.randbytes(20) + b'"}'
        elif chance < 0.35:
            text = b"[" * pick.choice([10, 5000]) + b"1"
        elif chance < 0.4:
            text = b'{"bit": ' + b"9" * pick.choice([30, 5000]) + b"}"
        return text

    def _headers(self) -> list[bytes]:
        return self._random.sample(
            [
                b"content-type: application/json",
                b"content-type: \xff\xfe",
                b"authorization: Bearer \xff",
                b"authorization: " + b"x" * 3000,
                b"expect: 100-continue",
                b"connection: upgrade\r\nupgrade: websocket",
                b"connection: close",
                b"content-length: -5",
                b"content-length: 99999999999999999999",
                b"transfer-encoding: chunked",
                b"transfer-encoding: chunked, chunked",
                b"x: " + b"y" * 20000,
                b"host: \x00",
            ],
            self._random.randrange(3),
        )

    def _post(self, path: str, body: bytes) -> bytes:
        return self._http("POST", path, body, [b"content-type: application/json"])

    def _http(self, method: str, path: str, body: bytes, headers: list[bytes]) -> bytes:
        length = max(0, len(body) + self._random.choice([0, 0, 0, 0, 0, 0, 0, 0, -1, 7]))
        self._complete = length <= len(body)
        lines = [
            f"{method} {path} HTTP/1.1".encode("latin-1"),
            b"host: localhost",
            b"content-length: %d" % length,
            *headers,
        ]
        return b"\r\n".join(lines) + b"\r\n\r\n" + body


class _Wire:
    """Sends a request and reads one answer's status; 0 when the server hangs up instead, or has to wait for more."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None

    def send(self, request: bytes, complete: bool) -> int:
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port))
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(PATIENCE if complete else 0.002)
        try:
            self._socket.sendall(request)
            data = self._read(request.startswith(b"HEAD"))
        except OSError:
            data = b""
        if not data.startswith(b"HTTP/1.1 2") or b"connection: close" in data.lower():
            self.close()  # what the server makes of the rest of a wrong request is not for the next one
        return int(data[9:12] or 0)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _read(self, head_only: bool) -> bytes:
        assert self._socket is not None
        data = b""
        while True:
            data += (more := self._socket.recv(65536))
            head, found, body = data.partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head)
            if not more or (found and (head_only or length is None or len(body) >= int(length[1]))):
                return data


@pytest.mark.timeout(300 + REQUESTS // 10)
def test_nonsense_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    with Running(tmp_path / "s.sqlite") as server:
        server.create(minimum=1_000_000)
        tables = ("tasks", "rounds", "reports")
        before = {table: server.rows(f"SELECT * FROM {table}") for table in tables}
        fuzzer, wire = _Fuzzer(SEED), _Wire(server.port)
        seen: collections.Counter[int] = collections.Counter()
        for number in range(REQUESTS):
            request, complete = fuzzer.request()
            status = wire.send(request, complete)
            assert status < 500, (status, request)
            seen[status] += 1
            if number % 500 == 0:
                assert server.ask("GET", "/healthz")[0] == 200
        wire.close()
        assert server.process.is_alive()
        assert {table: server.rows(f"SELECT * FROM {table}") for table in tables} == before
        assert seen[422] > REQUESTS // 10
        assert seen[404] > REQUESTS // 20
        assert seen[409] > 0
        print(dict(sorted(seen.items())))
