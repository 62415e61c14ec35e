"""What the service answers, what it refuses, and what it never writes down."""

from __future__ import annotations

import json
from typing import Any

import pytest

from discreet.model import Model
from tests.web.support.running import Running


def test_a_posted_history_gives_the_models_list(running: Running, rated: Model) -> None:
    history = [{"item": "film-3", "rating": 5}, {"item": "film-4", "rating": 1.5}]
    answer = running.recommend(history=history, n=5)
    expected = rated.recommend({"film-3": 5, "film-4": 1.5}, 5)
    assert [one["item"] for one in answer["recommendations"]] == expected.items
    assert answer["recommendations"][0]["title"].startswith("The Película")
    assert (answer["requested"], answer["shortfall"], answer["ignored"]) == (5, 0, 0)
    assert answer["model"] == rated.digest
    allowed = ["film-3", "film-9", "film-10", "film-11"]
    asked = {"allowed": allowed, "blocked": ["film-10"], "disliked": ["film-12"], "unknown_items": "drop"}
    narrow = running.recommend(history=[*history, {"item": "ghost", "rating": 3}], n=3, **asked)
    wanted = rated.recommend({"film-3": 5, "film-4": 1.5, "ghost": 3}, 3, **asked)
    assert narrow == wanted.to_dict() | {"notes": list(wanted.notes), "model": rated.digest}
    assert narrow["shortfall"] == 1


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
    (b'{"history": [{"item": "film-1", "rating": 1e999}]}', "finite"),
    ({"history": [ONE], "extra": 1}, "extra"),
    ({"history": [{**ONE, "user": "me"}]}, "user"),
    ({"history": [{"item": "film-1", "rating": "3"}]}, "valid number"),
    ({"history": [{"item": "film-1", "rating": True}]}, "valid number"),
    ({"history": [{"item": "film-1"}]}, "not a number"),
    ({"history": [{"item": "film-1", "rating": 6}]}, "range"),
    ({"history": [ONE, ONE]}, "more than once"),
    ({"history": [{"item": "absent", "rating": 3}]}, "catalogue"),
    ({"history": [ONE], "n": 0}, "greater than or equal"),
    ({"history": [ONE], "n": 10**6}, "less than or equal"),
    ({"history": [ONE], "n": 2.5}, "integer"),
    ({"history": {"film-1": 3}}, "array"),
    ({}, "required"),
    (b"[1, 2", "JSON"),
    (b"", "JSON"),
]


@pytest.mark.parametrize(("content", "why"), REFUSED)
def test_what_is_wrong_is_said_in_one_sentence(running: Running, content: Any, why: str) -> None:
    status, body = running.ask("POST", "/recommend", content)
    assert status == 422, body
    assert why in json.loads(body)["error"]


def test_other_content_types_are_refused(running: Running) -> None:
    status, _ = running.ask("POST", "/recommend", b'{"history": []}', {"content-type": "text/plain"})
    assert status == 415


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
