"""Nonsense of every kind is answered with a 4xx, or by hanging up; a sensible request is answered all the while."""

from __future__ import annotations

import collections
import json
import random
import re
import socket
from pathlib import Path
from typing import Any

from tests.sizes import sized
from tests.web.support.models import make_model
from tests.web.support.running import PATIENCE, Running

REQUESTS = sized(2_000, 100_000)
SEED = 7
ODD: list[Any] = [
    None, True, -1, 0, 1.5, 1e308, 1 << 64, -(1 << 63), "", "x", "\x00", "é\ud800", "a" * 3000, [], {}, [[]], "1",
    "film-1", 5, [{"item": "film-1", "rating": 5}], ["film-2"], "drop", 10**400, [None] * 200, {"item": "film-3"},
]  # fmt: skip
PATHS = [
    "/recommend", "/similar", "/similar?item=film-1", "/similar?item=%00", "/similar?item=film-1&n=-1",
    "/similar?n=1e9",
    "/items?search=%ff%fe", "/items?search=" + "a" * 5000, "/items?n=99999999999999999999", "/items?search=a&search=b",
    "/statement", "/statement.html", "/health/live", "/health/ready", "/metrics", "/", "//",
    "/model.bin",
    "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc", "*", "http://[::1", "/" + "a" * 3000, "/\u00e9", "/?a=%", "/docs",
    "/index.html?x=1", "/health/", "/recommend/", "/similar?item=film-1&n=10&extra=1", "/items?search=%F0%9F%8E%AC",
]  # fmt: skip
METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "NONSENSE"]


class _Fuzzer:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def request(self) -> tuple[bytes, bool]:
        """A request, and whether the server can see its end."""
        kinds = [self._recommend, self._recommend, self._recommend, self._any, self._any, self._raw]
        return self._random.choice(kinds)()

    def _recommend(self) -> tuple[bytes, bool]:
        pick = self._random
        content: dict[str, Any] = {
            "history": [
                {"item": f"film-{pick.randrange(40)}", "rating": pick.randrange(1, 6)}
                for _ in range(pick.randrange(4))
            ]
        }
        for _ in range(pick.randrange(3)):
            entries = content["history"] if isinstance(content["history"], list) else []
            place: Any = pick.choice([content, *(entry for entry in entries if isinstance(entry, dict))])
            names = ["item", "rating", "more"] if place is not content else [
                "history", "n", "exclude_seen", "allowed", "blocked", "unknown_items", "more",
            ]  # fmt: skip
            place[pick.choice(names)] = pick.choice(ODD)
        text = json.dumps(content).encode()
        chance = pick.random()
        if chance < 0.1:
            text = text[: pick.randrange(len(text))]
        elif chance < 0.2:
            text = b'{"history":"' + pick.randbytes(20) + b'"}'
        elif chance < 0.25:
            text = b"[" * pick.choice([10, 5000]) + b"1"
        elif chance < 0.3:
            text = b'{"history": [], "n": ' + b"9" * pick.choice([30, 5000]) + b"}"
        return self._http("POST", "/recommend", text, [b"content-type: application/json"])

    def _any(self) -> tuple[bytes, bool]:
        method, path = self._random.choice(METHODS), self._random.choice(PATHS)
        body = self._random.randbytes(self._random.choice([0, 0, 3, 200]))
        return self._http(method, path, body, self._headers())

    def _raw(self) -> tuple[bytes, bool]:
        start = self._random.choice(
            [b"", b"GET / HTTP/1.1\r\n", b"POST /recommend HTTP/1.1\r\ncontent-length: 5\r\n"]
        )
        return start + self._random.randbytes(self._random.randrange(1, 300)), False

    def _headers(self) -> list[bytes]:
        return self._random.sample(
            [
                b"content-type: application/json",
                b"content-type: \xff\xfe",
                b"authorization: " + b"x" * 3000,
                b"accept-encoding: gzip",
                b"if-none-match: \xff",
                b"expect: 100-continue",
                b"connection: upgrade\r\nupgrade: websocket",
                b"content-length: -5",
                b"content-length: 99999999999999999999",
                b"transfer-encoding: chunked",
                b"x: " + b"y" * 20000,
                b"host: \x00",
            ],
            self._random.randrange(3),
        )

    def _http(self, method: str, path: str, body: bytes, headers: list[bytes]) -> tuple[bytes, bool]:
        length = max(0, len(body) + self._random.choice([0, 0, 0, 0, 0, 0, 0, 0, -1, 7]))
        lines = [
            f"{method} {path} HTTP/1.1".encode("latin-1"),
            b"host: localhost",
            b"connection: close",
            b"content-length: %d" % length,
            *headers,
        ]
        plain = not any(
            name in b"".join(headers) for name in (b"transfer-encoding", b"expect", b"content-length")
        )
        return b"\r\n".join([*lines, b"", body]), length <= len(body) and plain


def _statuses(service: Running, request: bytes, complete: bool) -> list[int]:
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as wire:
        try:
            wire.sendall(request)
            if not complete:
                wire.shutdown(socket.SHUT_WR)
            answer = b""
            while piece := wire.recv(65536):
                answer += piece
        except ConnectionError:
            return []
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3})", answer[:4000])]


def test_no_request_is_answered_with_a_fault_of_ours(tmp_path: Path) -> None:
    folder = make_model("Ridge", 40, 3).save(tmp_path / "model")
    fuzzer, counts = _Fuzzer(SEED), collections.Counter[int]()
    with Running(folder) as service:
        for number in range(REQUESTS):
            request, complete = fuzzer.request()
            statuses = _statuses(service, request, complete)
            assert all(status < 500 for status in statuses), (
                f"seed {SEED}, number {number}: {request[:500]!r}"
            )
            counts.update(statuses)
        assert len(service.recommend(history=[{"item": "film-1", "rating": 5}])["recommendations"]) == 10
        assert service.log == ""
    assert {200, 400, 404, 405, 422} <= set(counts), counts
