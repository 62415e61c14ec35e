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

REQUESTS = sized(800, 100_000)
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


HEADERS = [
    b"content-type: application/json", b"content-type: \xff\xfe", b"authorization: " + b"x" * 3000,
    b"accept-encoding: gzip", b"if-none-match: \xff", b"expect: 100-continue",
    b"connection: upgrade\r\nupgrade: websocket", b"content-length: -5", b"content-length: 99999999999999999999",
    b"transfer-encoding: chunked", b"x: " + b"y" * 20000, b"host: \x00",
]  # fmt: skip
NAMES = ["history", "n", "exclude_seen", "allowed", "blocked", "unknown_items", "more"]


def made(pick: random.Random) -> tuple[bytes, bool]:
    """A request, and whether the server can see its end."""
    kind = pick.random()
    if kind < 0.5:
        text = json.dumps(content_of(pick)).encode()
        broken = [text[: len(text) // 2], b'{"history":"' + pick.randbytes(20) + b'"}', b"[" * 5000 + b"1"]
        broken.append(b'{"history": [], "n": ' + b"9" * 5000 + b"}")
        text = pick.choice(broken) if pick.random() < 0.3 else text
        return written(pick, "POST", "/recommend", text, [b"content-type: application/json"])
    if kind < 0.85:
        body = pick.randbytes(pick.choice([0, 0, 3, 200]))
        headers = pick.sample(HEADERS, pick.randrange(3))
        return written(pick, pick.choice(METHODS), pick.choice(PATHS), body, headers)
    start = pick.choice([b"", b"GET / HTTP/1.1\r\n", b"POST /recommend HTTP/1.1\r\ncontent-length: 5\r\n"])
    return start + pick.randbytes(pick.randrange(1, 300)), False


def content_of(pick: random.Random) -> dict[str, Any]:
    """A sensible request with up to two things in it that are not."""
    history = [
        {"item": f"film-{pick.randrange(40)}", "rating": pick.randrange(1, 6)}
        for _ in range(pick.randrange(4))
    ]
    content: dict[str, Any] = {"history": history}
    for _ in range(pick.randrange(3)):
        if history and pick.random() < 0.5:
            pick.choice(history)[pick.choice(["item", "rating", "more"])] = pick.choice(ODD)
        else:
            content[pick.choice(NAMES)] = pick.choice(ODD)
    return content


def written(
    pick: random.Random, method: str, path: str, body: bytes, headers: list[bytes]
) -> tuple[bytes, bool]:
    length = max(0, len(body) + pick.choice([0, 0, 0, 0, 0, 0, 0, 0, -1, 7]))
    first = f"{method} {path} HTTP/1.1".encode("latin-1")
    lines = [first, b"host: localhost", b"connection: close", b"content-length: %d" % length, *headers]
    said = b"".join(headers)
    plain = not any(name in said for name in (b"transfer-encoding", b"expect", b"content-length"))
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
    pick, counts = random.Random(SEED), collections.Counter[int]()
    with Running(folder) as service:
        for number in range(REQUESTS):
            request, complete = made(pick)
            statuses = _statuses(service, request, complete)
            assert all(status < 500 for status in statuses), (
                f"seed {SEED}, number {number}: {request[:500]!r}"
            )
            counts.update(statuses)
        assert len(service.recommend(history=[{"item": "film-1", "rating": 5}])["recommendations"]) == 10
        assert service.log == ""
    assert {200, 400, 404, 405, 422} <= set(counts), counts
