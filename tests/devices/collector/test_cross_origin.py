"""Pages of other origins: none by default, and those that are named may read, not command."""

from __future__ import annotations

import itertools
import json
from http.client import HTTPConnection
from pathlib import Path

import pytest

from discreet.devices.collector.app import CollectorSettings
from discreet.devices.device.question import Question
from discreet.errors import SettingsInvalid
from tests.devices.support.running import CONFIG, PATIENCE, Running, asked_devices, body_of

PAGE, OTHER = "https://shop.example", "https://other.example"
TOKEN = "token-of-the-collector"
ALLOW = "access-control-allow-origin"


def ask(
    server: Running, method: str, path: str, body: bytes | None = None, **headers: str
) -> tuple[int, dict[str, str]]:
    """Status and headers, as a browser sees them."""
    wire = HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    try:
        wire.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        response = wire.getresponse()
        response.read()
        return response.status, {name.lower(): value for name, value in response.getheaders()}
    finally:
        wire.close()


def start_task(server: Running) -> Question:
    status, body = server.ask("POST", "/v1/tasks", CONFIG, {"authorization": f"Bearer {TOKEN}"})
    assert status == 201, body
    return Question.from_json(json.dumps(json.loads(body)["question"]))


def test_without_the_option_no_page_may_read_anything(tmp_path: Path) -> None:
    with Running(tmp_path / "s.sqlite", token=TOKEN) as server:
        start_task(server)
        preflight = {"origin": PAGE, "access_control_request_method": "POST"}
        status, headers = ask(server, "OPTIONS", "/v1/reports", **preflight)
        assert status >= 400
        assert not any(name.startswith("access-control") for name in headers)
        status, headers = ask(server, "GET", "/v1/tasks/films/question", origin=PAGE)
        assert status == 200
        assert not any(name.startswith("access-control") for name in headers)


def test_a_named_origin_may_be_a_device_and_no_other_may(tmp_path: Path) -> None:
    with Running(tmp_path / "s.sqlite", token=TOKEN, allow_origin=(PAGE,)) as server:
        question = start_task(server)
        wanted = {
            "access_control_request_method": "POST",
            "access_control_request_headers": "authorization,content-type",
        }
        status, headers = ask(server, "OPTIONS", "/v1/reports", origin=PAGE, **wanted)
        assert (status, headers[ALLOW]) == (200, PAGE)
        assert "access-control-allow-credentials" not in headers
        status, headers = ask(server, "OPTIONS", "/v1/reports", origin=OTHER, **wanted)
        assert status == 400
        assert ALLOW not in headers
        device = next(iter(itertools.islice(asked_devices(question), 1)))
        report = body_of(question, device, 1)
        status, headers = ask(
            server, "POST", "/v1/reports", report, origin=PAGE, content_type="application/json"
        )
        assert (status, headers[ALLOW]) == (200, PAGE)
        assert len(server.kept()) == 1
        for path in ("/v1/tasks/films/question", "/v1/tasks/absent"):  # refusals can be read too
            assert ask(server, "GET", path, origin=PAGE)[1][ALLOW] == PAGE
            assert ALLOW not in ask(server, "GET", path, origin=OTHER)[1]
        closed = ask(
            server,
            "POST",
            "/v1/tasks/films/close",
            b'{"round":1}',
            origin=PAGE,
            content_type="application/json",
        )
        assert closed[0] == 401  # a page has no token to command with


def test_anything_but_one_origin_is_refused_and_any_without_a_token(tmp_path: Path) -> None:
    for origin in (
        "*",
        "null",
        "http://shop.example",
        "https://shop.example/",
        "https://a.example\r\nx: y",
        "",
    ):
        with pytest.raises(SettingsInvalid, match="--allow-origin"):
            CollectorSettings(store=tmp_path / "s", token=TOKEN, allow_origin=(origin,)).check()
    with pytest.raises(SettingsInvalid, match="could command"):
        CollectorSettings(store=tmp_path / "s", allow_origin=(PAGE,)).check()
    for origin in (PAGE, "https://shop.example:8443", "http://localhost:3000"):
        CollectorSettings(store=tmp_path / "s", token=TOKEN, allow_origin=(origin,)).check()
