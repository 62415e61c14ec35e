"""What an operator sees of a server of silos: counts, health and a log, and nothing of any message."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import urllib.error
import urllib.request
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import Refused, SettingsInvalid
from discreet.operations import Log
from discreet.silos.transport.identity import client_context, server_context
from discreet.silos.transport.operations import Operations
from discreet.silos.transport.passes import PASS
from discreet.silos.transport.server import Server, Terms
from tests.silos.transport.conftest import SILOS
from tests.silos.transport.test_server import MODEL, RUN, MadeUp

STATUS: dict[str, Any] = {
    "run": "r",
    "state": "running",
    "reason": None,
    "round": 2,
    "rounds": 5,
    "attempt": 0,
    "roster": ["a", "b", "c"],
    "waiting_for": ["b"],
    "charged_mu": 0.123,
}


def fetch(port: int, path: str, data: bytes | None = None) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", data, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_alive_before_ready_and_counts_by_kind() -> None:
    written = io.StringIO()
    heard: list[dict[str, Any]] = []
    operations = Operations(Log("silo server", written), 0)
    report = operations.also(heard.append)
    ports: list[int] = []

    async def look(path: str, data: bytes | None = None) -> tuple[int, str]:
        return await asyncio.to_thread(fetch, ports[0], path, data)

    async def work() -> str:
        assert await look("/health/live") == (200, '{"ok": true}')
        assert (await look("/health/ready"))[0] == 503
        report(STATUS)
        report({**STATUS, "charged_mu": 0.5})
        report({**STATUS, "waiting_for": []})
        report({**STATUS, "stage": "countersign", "waiting_for": []})
        assert await look("/health/ready") == (200, '{"ok": true}')
        for status in (HTTPStatus.OK, HTTPStatus.NO_CONTENT, HTTPStatus.FORBIDDEN, HTTPStatus.CONFLICT):
            operations.answered(status)
        text = (await look("/metrics"))[1]
        for line in (
            "discreet_silos_requests_answered_total 2",
            'discreet_silos_requests_refused_total{kind="not_asked"} 1',
            'discreet_silos_requests_refused_total{kind="conflict"} 1',
            "discreet_silos_round 2",
            "discreet_silos_rounds 5",
            "discreet_silos_silos 3",
            "discreet_silos_silos_awaited 0",
            "discreet_silos_ready 1",
        ):
            assert line + "\n" in text
        report({**STATUS, "state": "failed", "reason": "a bad answer"})
        status, why = await look("/health/ready")
        assert status == 503
        assert "a bad answer" in why
        assert (await look("/health/live"))[0] == 200
        assert (await look("/elsewhere"))[0] == 404
        assert (await look("/metrics", b"x"))[0] == 413
        return "done"

    assert asyncio.run(operations.beside(work(), ports.append)) == "done"
    assert len(heard) == 5
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [line["event"] for line in lines] == [
        "started",
        "run",
        "run",
        "run",
        "counts",
        "run",
        "stopped",
    ]
    assert [line["waiting_for"] for line in lines if line["event"] == "run"] == [["b"], [], [], ["b"]]
    stages = [line["stage"] for line in lines if line["event"] == "run"]
    assert stages == [None, None, "countersign", None]
    assert lines[4]["refused"] == {"not_asked": 1, "conflict": 1}
    assert "0.123" not in written.getvalue()


def test_a_server_tells_what_it_answered_and_to_whom_it_did_not(tls: Path) -> None:
    """Over TLS: a silo, its nonsense, and somebody who is in no agreement."""
    written = io.StringIO()
    operations = Operations(Log("silo server", written), 0)
    terms = Terms(RUN, 1, 100)

    def named(shown: str) -> str:
        if shown not in SILOS[:2]:
            raise Refused(f"{shown} is not in the agreement")
        return shown

    server = Server(
        MadeUp, lambda _: MODEL, terms, server_context(tls / "server"), named, operations=operations
    )

    def send(port: int, silo: str, content: str) -> None:
        context = client_context(tls / "silos" / silo)
        with (
            socket.create_connection(("127.0.0.1", port), 60) as raw,
            context.wrap_socket(raw, server_hostname="localhost") as wire,
            suppress(OSError),
        ):
            wire.sendall(content.replace("\r\n", f"\r\n{PASS}: {silo}\r\n", 1).encode())
            while wire.recv(1 << 16):
                pass

    async def run() -> str:
        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        with socket.create_server(("127.0.0.1", 0)) as listening:
            serving = asyncio.create_task(operations.beside(server.run(listening), found.set_result))
            port = listening.getsockname()[1]
            await found
            for silo, content in (
                (SILOS[0], f"GET /v1/{RUN}/question HTTP/1.1\r\n\r\n"),
                (SILOS[0], "nonsense\r\n\r\n"),
                (SILOS[1], "GET /elsewhere HTTP/1.1\r\n\r\n"),
                (SILOS[2], "GET / HTTP/1.1\r\n\r\n"),
            ):
                await asyncio.to_thread(send, port, silo, content)
            text = (await asyncio.to_thread(fetch, found.result(), "/metrics"))[1]
            serving.cancel()
            with suppress(asyncio.CancelledError):
                await serving
        return text

    lines = [line for line in asyncio.run(run()).splitlines() if not line.startswith("#")]
    assert "discreet_silos_requests_answered_total 1" in lines
    assert [line for line in lines if "refused" in line and not line.endswith(" 0")] == [
        'discreet_silos_requests_refused_total{kind="bad_request"} 1',
        'discreet_silos_requests_refused_total{kind="not_asked"} 1',
        'discreet_silos_requests_refused_total{kind="not_found"} 1',
    ]
    assert "elsewhere" not in written.getvalue()


def test_without_a_port_nobody_is_served_and_a_taken_one_is_said() -> None:
    quiet = Operations(Log("silo server", None))

    async def nothing() -> int:
        return 7

    assert asyncio.run(quiet.beside(nothing())) == 7

    async def twice() -> None:
        first = Operations(Log("silo server", None), 0)
        ports: list[int] = []

        async def inside() -> None:
            await Operations(Log("silo server", None), ports[0]).beside(nothing())

        await first.beside(inside(), ports.append)

    with pytest.raises(SettingsInvalid, match="cannot listen on"):
        asyncio.run(twice())
