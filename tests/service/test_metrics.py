"""A fault of ours is answered with a 500 that says nothing, and logged without what was being worked on."""

from __future__ import annotations

import asyncio
import logging

import pytest
from starlette.types import Message, Receive, Scope, Send

from discreet.service.metrics import Measured, Metrics


async def broken(scope: Scope, receive: Receive, send: Send) -> None:
    raise ValueError("somebody rated film-77 with 5")


def test_a_fault_tells_nobody_what_was_being_worked_on(caplog: pytest.LogCaptureFixture) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    metrics = Metrics(frozenset({"/recommend"}))
    scope = {"type": "http", "path": "/recommend", "headers": []}
    with caplog.at_level(logging.DEBUG):
        asyncio.run(Measured(broken, metrics)(scope, receive, send))
    assert sent[0]["status"] == 500
    assert "film-77" not in caplog.text + str(sent) + metrics.text().decode()
    assert "ValueError" in caplog.text
    assert b'discreet_requests_total{path="/recommend",status="500"} 1.0' in metrics.text()
    assert b"discreet_requests_open 0.0" in metrics.text()
