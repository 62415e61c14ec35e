"""The service: what it answers, refuses and never writes down, where it listens, how a model is exchanged."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Message

from discreet.errors import SettingsInvalid
from discreet.model import Model
from discreet.web.metrics import Metrics
from discreet.web.server import REFUSALS, Measured
from discreet.web.service import ServiceSettings
from tests.sizes import sized
from tests.web.support.models import make_model, random_history
from tests.web.support.running import Running, wait_until


@pytest.mark.parametrize("kind", ["Ridge", "ClickTable"])
def test_a_posted_history_gives_the_models_list(kind: str, tmp_path: Path) -> None:
    model, rng = make_model(kind), np.random.default_rng(1)
    explicit = model.item_side.scale.explicit
    options: list[dict[str, Any]] = [
        {},
        {"n": 25, "exclude_seen": False},
        {"n": 4, "allowed": [f"film-{number}" for number in range(0, 300, 7)]},
        {"blocked": [f"film-{number}" for number in range(100)], "unknown_items": "drop"},
    ]
    with Running(model.save(tmp_path / "model")) as service:
        for more in options:
            history = random_history(model, rng)
            liked = {item: rating for item, rating in history.items() if rating > 0.0}
            entries = [
                {"item": one, "rating": rating} if explicit else {"item": one}
                for one, rating in liked.items()
            ]
            said = {"disliked": [one for one in history if one not in liked], **more}
            found = service.recommend(history=entries, **said)
            wanted = model.recommend(history, **more)
            assert found == wanted.to_dict() | {"notes": list(wanted.notes), "model": model.digest}


def test_similar_items_search_and_statement(running: Running, rated: Model) -> None:
    similar = running.get("/similar?item=film-7&n=4")
    assert [one["item"] for one in similar["recommendations"]] == rated.similar("film-7", 4).items
    found = running.get("/items?search=pelicula%20number%20299")
    assert found["items"] == [{"item": "film-299", "title": "The Película number 299"}]
    assert running.get("/items?n=7")["found"] == 300
    statement = running.get("/statement")
    assert statement["model"]["digest"] == rated.digest
    assert statement["statement"]["private"] is False


def test_health_and_metrics(running: Running, rated: Model) -> None:
    assert running.get("/health/live") == {"live": True}
    assert running.get("/health/ready") == {"ready": True, "model": rated.digest, "items": 300}
    running.ask("GET", "/no/such/path/film-1")
    _, body = running.ask("GET", "/metrics")
    text = body.decode()
    assert 'discreet_requests_total{path="/health/ready",status="200"}' in text
    assert 'path="other",status="404"' in text
    assert "film" not in text


ONE = {"item": "film-1", "rating": 3}
REFUSED: list[tuple[Any, str]] = [
    (b'{"history": [{"item": "film-1", "rating": NaN}]}', "finite"),
    ({"history": [ONE], "extra": 1}, "extra"),
    ({"history": [{**ONE, "user": "me"}]}, "user"),
    ({"history": [{"item": "film-1", "rating": "3"}]}, "valid number"),
    ({"history": [{"item": "film-1"}]}, "not a number"),
    ({"history": [{"item": "film-1", "rating": 6}]}, "range"),
    ({"history": [{"item": "absent", "rating": 3}]}, "catalogue"),
    ({"history": [ONE], "n": 0}, "greater than or equal"),
    ({"history": [ONE], "n": 10**6}, "less than or equal"),
    ({"history": {"film-1": 3}}, "array"),
    ({}, "required"),
    (b"[1, 2", "JSON"),
]


@pytest.mark.parametrize(("content", "why"), REFUSED)
def test_what_is_wrong_is_said_in_one_sentence(running: Running, content: Any, why: str) -> None:
    status, body = running.ask("POST", "/recommend", content)
    assert status == 422, body
    assert why in json.loads(body)["error"]


def test_a_body_without_an_end_is_refused_before_it_is_read(running: Running) -> None:
    with running.connect() as wire:
        wire.sendall(
            b"POST /recommend HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            b"content-length: 1073741824\r\n\r\n"
        )
        assert b" 413 " in wire.recv(4096)
    with running.connect() as wire:
        wire.sendall(
            b"POST /recommend HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )
        piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        try:
            for _ in range(100):
                wire.sendall(piece)
        except OSError:
            pass
        else:
            pytest.fail("6 MB were read")


def test_whoever_calls_this_machine_by_another_name_is_not_answered(running: Running) -> None:
    status, _ = running.ask("GET", "/statement", headers={"host": "attacker.example"})
    assert status == 421


def test_nothing_about_a_request_is_written_down(running: Running) -> None:
    running.recommend(history=[{"item": "film-123", "rating": 4}])
    running.ask("POST", "/recommend", {"history": [{"item": "film-124", "rating": 99}]})
    running.ask("GET", "/items?search=telltale")
    assert running.log == ""


TOKEN = "a token of some length"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"host": "0.0.0.0"}, "--anyone"),
        ({"host": "example.org", "token": TOKEN}, "--anyone"),
        ({"token": "short"}, "at least"),
    ],
)
def test_what_would_be_open_to_others_is_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(SettingsInvalid, match=why):
        ServiceSettings(model=Path("model"), **options).check()


def test_with_a_token_only_health_is_told_without_it(tmp_path: Path) -> None:
    folder = make_model("Clicks", 20, 2).save(tmp_path / "model")
    with Running(folder, token=TOKEN) as service:
        assert service.get("/health/live") == {"live": True}
        for path in ("/items", "/statement", "/metrics", "/", "/model.bin"):
            assert service.ask("GET", path)[0] == 401, path
            assert service.ask("GET", path, headers={"authorization": "Bearer wrong"})[0] == 401, path
            assert service.ask("GET", path, headers={"authorization": f"Bearer {TOKEN}"})[0] == 200, path
        assert service.ask("POST", "/recommend", {"history": []})[0] == 401


EXCHANGES = sized(6, 100)


class Asking(threading.Thread):
    """Asks for lists until it is told to stop, and keeps which model answered, and whatever went wrong."""

    def __init__(self, service: Running) -> None:
        super().__init__()
        self._service, self._stop_asking = service, threading.Event()
        self.answered: list[str] = []
        self.failed: list[object] = []

    def run(self) -> None:
        while not self._stop_asking.is_set():
            try:
                answer = self._service.recommend(history=[{"item": "film-1", "rating": 4}], n=10)
                assert len(answer["recommendations"]) == 10
                self.answered.append(answer["model"])
            except Exception as error:
                self.failed.append(error)

    def stop(self) -> None:
        self._stop_asking.set()
        self.join()


def test_models_are_exchanged_under_load_and_no_request_fails(tmp_path: Path) -> None:
    models = [make_model("Ridge", 50, 4, seed) for seed in range(3)]
    folder = models[0].save(tmp_path / "model")
    with Running(folder, watch=0.05) as service:
        asking = [Asking(service) for _ in range(3)]
        for one in asking:
            one.start()
        for number in range(1, EXCHANGES + 1):
            fresh = models[number % 3]
            fresh.save(folder, overwrite=True)
            wait_until(lambda digest=fresh.digest: service.get("/health/ready")["model"] == digest)
            wait_until(lambda digest=fresh.digest: any(one.answered[-1:] == [digest] for one in asking))
        for one in asking:
            one.stop()
        assert [failure for one in asking for failure in one.failed] == []
        seen = {digest for one in asking for digest in one.answered}
        assert seen == {model.digest for model in models}
        _, text = service.ask("GET", "/metrics")
        assert f'discreet_model_exchanges_total{{outcome="served"}} {EXCHANGES}'.encode() in text


def test_what_cannot_be_used_is_not_served(tmp_path: Path) -> None:
    old, new = make_model("Ridge", 50, 4, 0), make_model("Clicks", 30, 2, 1)
    folder = old.save(tmp_path / "model")
    with Running(folder, watch=0.05) as service:
        manifest = (folder / "manifest.json").read_text()
        (folder / "manifest.json").write_text(manifest + " ")
        (folder / "statement.json").write_text("{}")
        wait_until(lambda: b'{outcome="refused"} 1.0' in service.ask("GET", "/metrics")[1])
        assert service.get("/health/ready")["model"] == old.digest
        assert "the model was not exchanged" in service.log
        new.save(folder, overwrite=True)
        wait_until(lambda: service.get("/health/ready")["model"] == new.digest)
        assert service.get("/items")["found"] == 30


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


def test_it_says_where_it_is_answers_there_and_stops_when_told_to(tmp_path: Path) -> None:
    folder = make_model("Ridge", 30, 3).save(tmp_path / "model")
    command = [sys.executable, "-m", "discreet", "serve", str(folder), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = json.loads(process.stdout.readline())["address"]
        with urlopen(f"{address}/health/ready") as answer:
            assert json.load(answer)["items"] == 30
        with urlopen(address) as answer:
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert b"What to pick next" in answer.read()
        os.kill(process.pid, signal.SIGINT)
        assert "Stopped." in process.stderr.read()
