"""A fault of ours is answered with a 500 that says nothing, and logged without what was being worked on."""

from __future__ import annotations

import asyncio
import logging

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Message

from discreet.web.metrics import Metrics
from discreet.web.server import REFUSALS, Measured


def broken(request: Request) -> None:
    raise ValueError("somebody rated film-77 with 5")


def test_a_fault_tells_nobody_what_was_being_worked_on(caplog: pytest.LogCaptureFixture) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    metrics = Metrics(frozenset({"/recommend"}))
    scope = {"type": "http", "method": "GET", "path": "/recommend", "query_string": b"", "headers": []}
    app = Starlette(routes=[Route("/recommend", broken)], exception_handlers=REFUSALS)
    with caplog.at_level(logging.ERROR):
        asyncio.run(Measured(app, metrics)(scope, receive, send))
    assert sent[0]["status"] == 500
    assert b"our fault" in sent[1]["body"]
    assert "film-77" not in caplog.text + str(sent) + metrics.text().decode()
    assert "ValueError" in caplog.text
    assert b'discreet_requests_total{path="/recommend",status="500"} 1.0' in metrics.text()
    assert b"discreet_requests_open 0.0" in metrics.text()
