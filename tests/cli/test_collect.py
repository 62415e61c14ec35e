"""``discreet collect``: what a person types."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from discreet.cli import main
from discreet.cli.collect import command
from discreet.errors import DiscreetError
from tests.devices.support.running import Running, asked_devices


def _run(*arguments: str) -> dict[str, object]:
    result = CliRunner().invoke(command, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


def _refusal(*arguments: str) -> str:
    """The one line of a refusal; nothing else is said."""
    result = CliRunner().invoke(main, ["collect", *arguments])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


FILMS = ("films", "--items", "10", "--rating-range", "1", "5", "--epsilon", "2")


def test_a_task_from_creation_to_release(tmp_path: Path) -> None:
    with Running(tmp_path / "s.sqlite") as server:
        options = (
            "--items",
            "10",
            "--rating-range",
            "1",
            "5",
            "--epsilon",
            "2",
            "--minimum",
            "2",
            "--set",
            "groups=2",
        )
        made = _run("task", "create", server.url, "films", *options, "--json")
        assert made["terms"] == {
            "task": "films",
            "epsilon": 2.0,
            "rounds": 2,
            "items": 10,
            "range": [1.0, 5.0],
        }
        assert _run("task", "show", server.url, "--json") == {"tasks": ["films"]}
        with pytest.raises(DiscreetError, match="a release needs 2"):
            _run("task", "close", server.url, "films", "1", "--json")
        for number in (1, 2):
            devices = asked_devices(server.question())
            assert [server.report(next(devices), 1, number)[0] for _ in range(2)] == [200, 200]
            closed = _run("task", "close", server.url, "films", str(number), "--json")
            assert closed == {"task": "films", "released": number, "reports": 2}
        assert _run("task", "show", server.url, "films", "--json")["question"] is None


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["serve", "--store", "s", "--host", "0.0.0.0"], "can be reached from other machines"),
        (["serve", "--store", "s", "--rate", "-1"], "rate"),
        (["serve", "--store", "s", "--token-file", "nothing"], "cannot be read"),
        (["task", "show", "http://127.0.0.1:9"], "cannot be reached"),
        (["task", "show", "nonsense"], "not the address"),
        (["simulate", "--set", "groups=1"], "groups"),
    ],
)
def test_mistakes_are_named(
    arguments: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DiscreetError, match=why):
        CliRunner().invoke(command, arguments, catch_exceptions=False)


def test_simulate_runs_real_devices_through_all_rounds() -> None:
    found = _run(
        "simulate", "--devices", "24", "--items", "40", "--ratings", "6", "--minimum", "1", "--epsilon", "2",
        "--set", "groups=2", "--json",
    )  # fmt: skip
    assert found["rounds"] == 2
    assert found["reports"] == 24  # every device is asked once
    assert 200 < float(str(found["bytes_sent_per_report"])) < 600
    assert float(str(found["rmse_user_mean"])) > 0


@contextmanager
def _answering(body: bytes) -> Iterator[str]:
    """A web server that answers everything with this."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE html>\n<html></html>",
        b"",
        b"\xff\xfe",
        b'["tasks"]',
        b"7",
        b"{}",
        b'{"tasks": 7}',
        b"[" * 50_000,
    ],
)
@pytest.mark.parametrize(
    "arguments", [("show",), ("show", "films"), ("create", *FILMS), ("close", "films", "1")]
)
def test_another_web_server_is_no_collector(body: bytes, arguments: tuple[str, ...]) -> None:
    with _answering(body) as url:
        assert f"{url} is not a collector" in _refusal("task", arguments[0], url, *arguments[1:])


def test_whoever_runs_tasks_may_look_at_them(tmp_path: Path) -> None:
    given = {"token": "admin-token-0123456789", "device_token": "device-token-0123456789"}
    for name, token in given.items():
        (tmp_path / name).write_text(token)
    with Running(tmp_path / "s.sqlite", **given) as server:
        admin = ("--token-file", str(tmp_path / "token"), "--json")
        _run("task", "create", server.url, *FILMS, *admin)
        assert _run("task", "show", server.url, *admin) == {"tasks": ["films"]}
        assert _run("task", "show", server.url, "films", *admin)["question"] is not None
        assert "needs a token" in _refusal("task", "show", server.url)


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    assert f"{folder} is not a file" in _refusal("serve", "--store", str(folder), "--port", "0")
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE tasks SET order_json = '{}' WHERE task = 'songs'",
        "UPDATE tasks SET order_json = 'nonsense' WHERE task = 'songs'",
        "UPDATE tasks SET order_json = replace(order_json, '40', '0') WHERE task = 'songs'",
        "UPDATE tasks SET order_json = replace(order_json, 'songs', 'poems') WHERE task = 'songs'",
        "UPDATE rounds SET question = x'7b7d' WHERE task = 2",
        "UPDATE rounds SET estimate = x'00' WHERE task = 2",
    ],
)
def test_a_damaged_task_is_named_before_anybody_is_told_to_come(tmp_path: Path, damage: str) -> None:
    store = tmp_path / "s.sqlite"
    with Running(store) as server:
        server.create()
        server.create(task="songs")
    with closing(sqlite3.connect(store)) as connection, connection:
        assert connection.execute(damage).rowcount == 1
    said = _refusal("serve", "--store", str(store), "--port", "0")
    assert f"task songs in {store} is damaged" in said


def test_a_reversed_range_is_called_that(tmp_path: Path) -> None:
    reversed_range = ("films", "--items", "10", "--rating-range", "5", "1", "--epsilon", "2")
    with Running(tmp_path / "s.sqlite") as server:
        for sets in ((), ("--set", "spread=1.0")):
            said = _refusal("task", "create", server.url, *reversed_range, *sets)
            assert "reversed" in said
            assert "lowest rating first" in said
        assert server.ask("GET", "/v1/tasks")[1] == b'{"tasks":[]}'


def _leaves(group: click.Group, *path: str) -> Iterator[tuple[str, ...]]:
    for name, found in group.commands.items():
        if isinstance(found, click.Group):
            yield from _leaves(found, *path, name)
        else:
            yield (*path, name)


@pytest.mark.parametrize("path", list(_leaves(command)), ids=" ".join)
def test_every_command_has_an_example_of_itself(path: tuple[str, ...]) -> None:
    help_text = CliRunner().invoke(main, ["collect", *path, "--help"]).stdout
    assert f"Example:\n    discreet collect {' '.join(path)} " in help_text
