"""``discreet collect``: what a person types."""

from __future__ import annotations

import itertools
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from discreet.catalogue import Catalogue
from discreet.cli import main
from discreet.cli.collect import command
from discreet.devices.device.item_side import DeviceItemSide
from discreet.errors import DiscreetError
from discreet.model import Model
from tests.devices.support.running import DIGEST, IDS, Running, all_like, asked_devices


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


FILMS = ("films", "--rating-range", "1", "5", "--epsilon", "2")


@pytest.fixture
def items(tmp_path: Path) -> Path:
    """Ten films with titles."""
    path = tmp_path / "items.csv"
    path.write_text("item,title\n" + "".join(f"film-{number},The film {number}\n" for number in range(10)))
    return path


def test_a_task_from_creation_to_release(tmp_path: Path, items: Path) -> None:
    with Running(tmp_path / "s.sqlite") as server:
        options = ("--catalogue", str(items), "--minimum", "2", "--set", "groups=2")
        made = _run("task", "create", server.url, *FILMS, *options, "--json")
        assert made["terms"] == {
            "task": "films",
            "epsilon": 2.0,
            "rounds": 2,
            "items": 10,
            "range": [1.0, 5.0],
            "catalogue": Catalogue.from_file(items).digest,
        }
        with pytest.raises(DiscreetError, match="a release needs 2"):
            _run("task", "close", server.url, "films", "1", "--json")
        for number in (1, 2):
            devices = asked_devices(server.question())
            assert [server.report(next(devices), 1, number)[0] for _ in range(2)] == [200, 200]
            closed = _run("task", "close", server.url, "films", str(number), "--json")
            assert closed == {"task": "films", "released": number, "reports": 2}
        assert _run("task", "count", server.url, "films", "--json")["round"] == 0


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["serve", "--store", "s", "--host", "0.0.0.0"], "can be reached from other machines"),
        (["serve", "--store", "s", "--token-file", "nothing"], "cannot be read"),
        (["task", "count", "http://127.0.0.1:9", "films"], "cannot be reached"),
        (["task", "count", "nonsense", "films"], "not the address"),
        (["simulate", "--set", "goal=rate", "--set", "groups=1"], "groups"),
    ],
)
def test_mistakes_are_named(
    arguments: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DiscreetError, match=why):
        CliRunner().invoke(command, arguments, catch_exceptions=False)


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
        b"\xff\xfe",
        b'{"tasks": 7}',
        b"[" * 50_000,
    ],
)
@pytest.mark.parametrize(
    "arguments",
    [("count", "films"), ("create", *FILMS), ("close", "films", "1"), ("model", "films")],
)
def test_another_web_server_is_no_collector(
    body: bytes, arguments: tuple[str, ...], tmp_path: Path, items: Path
) -> None:
    with _answering(body) as url:
        if arguments[0] == "model":
            said = _refusal("model", url, *arguments[1:], "--out", str(tmp_path / "model"))
            assert f"{url} is not a collector" in said
            assert not (tmp_path / "model").exists()
            return
        if arguments[0] == "create":
            arguments = (*arguments, "--catalogue", str(items))
        assert f"{url} is not a collector" in _refusal("task", arguments[0], url, *arguments[1:])


def test_whoever_runs_tasks_may_look_at_them(tmp_path: Path, items: Path) -> None:
    given = {"token": "admin-token-0123456789", "device_token": "device-token-0123456789"}
    for name, token in given.items():
        (tmp_path / name).write_text(token)
    with Running(tmp_path / "s.sqlite", **given) as server:
        admin = ("--token-file", str(tmp_path / "token"), "--json")
        _run("task", "create", server.url, *FILMS, "--catalogue", str(items), *admin)
        assert _run("task", "count", server.url, "films", *admin)["round"] == 1
        assert "token" in _refusal("task", "count", server.url, "films")


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    assert f"{folder} is not a file" in _refusal("serve", "--store", str(folder), "--port", "0")
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE tasks SET config = 'nonsense' WHERE task = 'songs'",
        "UPDATE tasks SET config = replace(config, 'songs', 'poems') WHERE task = 'songs'",
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


def test_a_catalogue_too_large_for_a_report_is_taken_from_whoever_may_create_tasks(tmp_path: Path) -> None:
    many = tmp_path / "many.txt"
    many.write_text("".join(f"a rather long name of an item, number {number}\n" for number in range(20_000)))
    (tmp_path / "token").write_text("admin-token-0123456789")
    with Running(tmp_path / "s.sqlite", token="admin-token-0123456789") as server:
        create = ("task", "create", server.url, *FILMS, "--catalogue", str(many))
        assert "needs a token" in _refusal(*create)
        made = _run(*create, "--token-file", str(tmp_path / "token"), "--json")
        assert made["terms"]["items"] == 20_000  # type: ignore[index]


def _everyday(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_a_task_ends_in_a_model_that_every_command_reads(tmp_path: Path) -> None:
    """Own ids and titles, a statement of what devices may have paid so far, and one set of commands."""
    model, history = str(tmp_path / "model"), tmp_path / "mine.csv"
    history.write_text("user,item,rating\n1,film-3,5\n1,film-7,1\n2,film-3,4\n2,film-9,2\n")
    test = tmp_path / "test.csv"
    test.write_text("user,item,rating\n1,film-9,4\n2,film-7,2\n")
    with Running(tmp_path / "s.sqlite") as server:
        server.create(settings={"groups": 2, "passes": 2})
        assert "round 1 of task films is not released yet" in _refusal(
            "model", server.url, "films", "--out", model
        )
        assert "no such task" in _refusal("model", server.url, "songs", "--out", model)
        assert not Path(model).exists()
        paid = []
        for number in (1, 2, 3, 4):
            all_like(server, 5, number)
            assert server.close(number)[0] == 200
            said = _run("model", server.url, "films", "--out", model, "--force", "--json")
            assert (said["items"], said["rank"]) == (40, 0)
            statement = Model.load(model).statement
            assert (statement.model, statement.private) == ("local", True)
            assert statement.epsilon == said["epsilon"]
            paid.append(round(float(str(statement.epsilon)), 9))
            assert any("still to come" in line for line in statement.not_protected) == (paid[-1] < 4.0)
        # After round 2 the first question of the second pass is open, and devices may have answered it.
        assert paid == [2.0, 4.0, 4.0, 4.0]
        released = server.ask("GET", "/v1/tasks/films/released/4")[1]
        assert "already has a model" in _refusal("model", server.url, "films", "--out", model)
    loaded = Model.load(model)
    assert loaded.catalogue.ids.tolist() == IDS
    assert loaded.catalogue.digest == DIGEST
    side = loaded.weights
    np.testing.assert_array_equal(side.counts, DeviceItemSide.from_bytes(released).popularity)
    assert side.sums is not None
    assert (side.sums.users, side.standing_out) == (240.0, 1)
    best = _everyday("recommend", model, "--history", str(history), "--user", "1", "-n", "3")
    assert best.exit_code == 0, best.output
    assert "The film number" in best.stdout
    columns = ("--user", "user", "--item", "item", "--rating", "rating")
    scored = _everyday("evaluate", model, str(test), "--history", str(history), *columns, "--json")
    assert scored.exit_code == 0, scored.output
    assert json.loads(scored.stdout)
    similar = _everyday("similar", model, "--item", "film-3")
    assert "stand out" in similar.stdout


def test_count_delete_back_up_and_restore(tmp_path: Path) -> None:
    items = tmp_path / "items.csv"
    items.write_text("item\n" + "".join(f"film-{number}\n" for number in range(10)))
    copy, new = tmp_path / "copy.sqlite", tmp_path / "new.sqlite"
    options = ("--rating-range", "1", "5", "--epsilon", "2", "--catalogue", str(items), "--minimum", "2")
    with Running(tmp_path / "s.sqlite") as server:
        _run("task", "create", server.url, "films", *options, "--enough", "9", "--hours", "5", "--json")
        config = json.loads(server.ask("GET", "/v1/tasks/films/config")[1])
        assert (config["enough"], config["hours"]) == (9, 5.0)
        for device in itertools.islice(asked_devices(server.question()), 3):
            assert server.report(device, 1)[0] == 200
        assert _run("task", "count", server.url, "films", "--json") == {
            "task": "films",
            "round": 1,
            "reports": 3,
            "minimum": 2,
            "released": [],
        }
        assert "is open" in _refusal("task", "delete", server.url, "films", "--all")
        assert server.close()[0] == 200
        assert _run("task", "delete", server.url, "films", "--json") == {"task": "films", "deleted": 3}
        assert _run("backup", "--store", str(server.store), "--out", str(copy), "--json")["out"] == str(copy)
    assert _run("restore", str(copy), "--store", str(new), "--json") == {"store": str(new), "tasks": 1}
    assert "is there already" in _refusal("restore", str(copy), "--store", str(new))
    assert "there is no store" in _refusal(
        "backup", "--store", str(tmp_path / "no"), "--out", str(tmp_path / "x")
    )
