"""The short way to a list answers as the long one does, to the byte; and TLS carries either."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from discreet.model import Model
from discreet.service.app import PATHS, make_app
from discreet.service.current import Current
from discreet.service.direct import Direct
from discreet.service.metrics import Metrics
from tests.service.test_fuzz import ODD

ONE = {"item": "film-1", "rating": 3}
BODIES: list[bytes] = [
    *(
        json.dumps(content).encode()
        for content in (
            {"history": []},
            {"history": [ONE], "n": 3},
            {"history": [ONE], "allowed": ["film-2", "film-3"], "exclude_seen": False},
            {"history": [ONE], "blocked": ["film-2", "nowhere"], "unknown_items": "drop"},
            {"history": [ONE, ONE]},
            {"history": [{"item": "nowhere", "rating": 3}]},
            {"history": [{"item": "film-1", "rating": 9}]},
            *({"history": odd} for odd in ODD),
            *({"history": [ONE], "n": odd} for odd in ODD),
            *({"history": [{"item": odd, "rating": 1}]} for odd in ODD),
            *({"history": [{"item": "film-1", "rating": odd}]} for odd in ODD),
        )
    ),
    *(b"", b"{", b"null", b"\xff", b'{"history": [], "history": [{"item": "film-1", "rating": NaN}]}'),
    b'{"history": [{"item": "film-1", "item": "film-2", "rating": 2}]}',
]


def asked(app: Any, body: bytes, kind: bytes) -> list[Any]:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", kind), (b"content-length", b"%d" % len(body))]
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST"}
    scope |= {"path": "/recommend", "raw_path": b"/recommend", "query_string": b"", "root_path": ""}
    scope |= {"scheme": "http", "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2)}
    asyncio.run(app(scope, receive, send))
    return sent


@pytest.mark.parametrize("kind", [b"application/json", b"text/plain"])
def test_the_short_way_answers_as_the_long_one(model: Model, tmp_path: Path, kind: bytes) -> None:
    folder = model.save(tmp_path / "model")
    current = Current(folder, page=False, tell=lambda fine: None)
    app = make_app(current, Metrics(PATHS), watch=0.0, page=False)
    short = Direct(app, current)
    statuses = set()
    for body in BODIES:
        wanted, given = asked(app, body, kind), asked(short, body, kind)
        assert given[0]["status"] == wanted[0]["status"], body
        assert sorted(given[0]["headers"]) == sorted(wanted[0]["headers"]), body
        assert given[1]["body"] == wanted[1]["body"], body
        statuses.add(given[0]["status"])
    assert statuses == ({200, 400, 422} if kind == b"application/json" else {422})


def test_the_usual_request_does_not_reach_the_framework(model: Model, tmp_path: Path) -> None:
    current = Current(model.save(tmp_path / "model"), page=False, tell=lambda fine: None)
    app = make_app(current, Metrics(PATHS), watch=0.0, page=False)
    short = Direct(app, current)
    app.router.routes.clear()
    assert asked(short, json.dumps({"history": [ONE]}).encode(), b"application/json")[0]["status"] == 200
    assert asked(short, b"{", b"application/json")[0]["status"] == 404
