"""What an operator sees of a server of silos: counts, health and a log, and nothing of any message."""

from __future__ import annotations

import asyncio
import io
import json
import urllib.error
import urllib.request
from http import HTTPStatus
from typing import Any

import pytest

from discreet.errors import SettingsInvalid
from discreet.operations import Log
from discreet.silos.transport.operations import Operations

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
    assert len(heard) == 4
    lines = [json.loads(line) for line in written.getvalue().splitlines()]
    assert [line["event"] for line in lines] == ["started", "run", "run", "run", "counts", "stopped"]
    assert [line.get("waiting_for") for line in lines[1:4]] == [["b"], [], ["b"]]
    assert lines[4]["refused"] == {"not_asked": 1, "conflict": 1}
    assert "0.123" not in written.getvalue()


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
