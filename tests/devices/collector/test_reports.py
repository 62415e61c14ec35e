"""One report per device and round, kept before it is answered; released once, from enough, and never again."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from discreet.devices.collector.task_config import TaskConfig
from discreet.devices.device.item_side import DeviceItemSide
from discreet.devices.estimator import Estimator
from discreet.devices.learner import Estimate
from tests.devices.support.running import CONFIG, DIGEST, Running, asked_devices


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(tmp_path_factory.mktemp("collector") / "store.sqlite", largest_body=2000) as running:
        yield running


@pytest.fixture
def made(server: Running, request: pytest.FixtureRequest) -> str:
    name = request.node.name.replace("_", "-").lower()[:60]
    server.create(task=name)
    return name


def test_a_repeated_report_gets_the_same_answer_and_a_changed_one_is_refused(
    server: Running, made: str
) -> None:
    device = next(asked_devices(server.question(made)))
    first = server.report(device, 1, task=made)
    assert first[0] == 200
    assert server.report(device, 1, task=made) == first
    assert server.report(device, 0, task=made)[0] == 409
    rows = server.rows(f"SELECT bit FROM reports WHERE device = x'{device.hex()}'")
    assert rows == [(1,)]


def test_rounds_open_one_after_another_and_late_reports_are_refused(server: Running, made: str) -> None:
    question = server.question(made)
    known, *others = itertools.islice(asked_devices(question), 7)
    late = others.pop()
    assert server.report(known, 1, 2, task=made)[0] == 409
    assert server.report(known, 1, task=made)[0] == 200
    assert server.close(task=made)[0] == 409  # one report where five are needed
    assert server.ask("GET", f"/v1/tasks/{made}/released/1")[0] == 404
    assert [server.report(device, 0, task=made)[0] for device in others] == [200] * 5
    assert server.close(2, task=made)[0] == 409
    assert server.close(task=made)[0] == 200
    assert server.close(task=made)[0] == 409
    assert server.question(made).round == 2
    assert server.report(late, 1, task=made)[0] == 410
    assert server.report(known, 1, task=made)[0] == 200  # it was kept, and its device may not have heard
    assert server.report(known, 0, task=made)[0] == 409


def test_the_release_is_the_offline_estimate_of_the_same_bits_and_stays_as_it_is(tmp_path: Path) -> None:
    learner = TaskConfig.model_validate_json(json.dumps({**CONFIG, "minimum": 60})).learner()
    with Running(tmp_path / "s.sqlite") as server:
        server.create(minimum=60)
        bodies = []
        for number in (1, 2):
            question = server.question()
            devices = list(itertools.islice(asked_devices(question), 60))
            bits = np.random.default_rng(number).integers(0, 2, 60)
            for device, bit in zip(devices, bits.tolist(), strict=True):
                assert server.report(device, bit, number)[0] == 200
            assert json.loads(server.close(number)[1])["reports"] == 60
            offline = Estimator(question)
            offline.add(devices, bits)
            learner = learner.after(Estimate(offline.estimate(), 60))
            bodies.append(server.ask("GET", f"/v1/tasks/films/released/{number}")[1])
            assert bodies[-1] == learner.released()
        assert server.ask("GET", "/v1/tasks/films/question")[0] == 410  # both rounds are over
        server.kill()
        server.start()
        assert [server.ask("GET", f"/v1/tasks/films/released/{n}")[1] for n in (1, 2)] == bodies
        assert server.ask("GET", "/v1/tasks/films/question")[0] == 410
    assert DeviceItemSide.from_bytes(bodies[1]).round == 2


def test_devices_that_are_not_asked_are_refused(server: Running, made: str) -> None:
    question = server.question(made)
    other = next(bytes([i]) * 16 for i in range(256) if not question.takes_part(bytes([i]) * 16))
    assert server.report(other, 1, task=made)[0] == 403


def test_terms_name_the_whole_cost(server: Running, made: str) -> None:
    terms = json.loads(server.ask("GET", f"/v1/tasks/{made}")[1])
    assert terms == {
        "task": made,
        "epsilon": 4.0,
        "rounds": 2,
        "items": 40,
        "range": [1.0, 5.0],
        "catalogue": DIGEST,
    }
    assert made in json.loads(server.ask("GET", "/v1/tasks")[1])["tasks"]


def test_wrong_reports_are_refused(server: Running) -> None:
    right = {"task": "films", "round": 1, "device": "a" * 32, "bit": 1}
    wrong: list[dict[str, object]] = [{"bit": 2}, {"bit": 1.0}, {"round": 0}, {"round": 1 << 70}, {"more": 1}]
    wrong += [{"device": "A" * 32}, {"device": "a" * 32 + "\n"}, {"task": "../x"}]
    for change in wrong:
        status, body = server.ask("POST", "/v1/reports", {**right, **change})
        assert status == 422
        assert set(json.loads(body)) == {"error"}
    assert server.ask("POST", "/v1/reports", {**right, "task": "no-such-task"})[0] == 404


def test_size_and_type_are_checked_before_anything_else(server: Running) -> None:
    assert server.ask("POST", "/v1/reports", b" " * 2001)[0] == 413
    chunked = {"transfer-encoding": "chunked"}
    assert server.ask("POST", "/v1/reports", b"3e8\r\n" + b" " * 1000 + b"\r\n0\r\n\r\n", chunked)[0] == 422
    pieces = (b"3e8\r\n" + b" " * 1000 + b"\r\n") * 3 + b"0\r\n\r\n"
    assert server.ask("POST", "/v1/reports", pieces, chunked)[0] == 413
    assert server.ask("POST", "/v1/reports", b"{}", {"content-type": "text/plain"})[0] == 415
    assert server.ask("POST", "/v1/tasks", b"{}", {"content-type": "text/plain"})[0] == 415
    assert server.ask("DELETE", "/v1/tasks")[0] == 405
    assert server.ask("GET", "/nothing")[0] == 404


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": -1.0},
        {"settings": {"goal": "rate", "groups": 1}},
        {"catalogue": {"ids": ["a", "a"]}},
        {"catalogue": {"ids": ["a", "b"], "titles": ["A"]}},
        {"catalogue": DIGEST},
    ],
)
def test_wrong_tasks_are_refused_and_leave_nothing(server: Running, change: dict[str, object]) -> None:
    assert server.ask("POST", "/v1/tasks", {**CONFIG, "task": "wrong", **change})[0] == 422
    assert server.ask("GET", "/v1/tasks/wrong")[0] == 404


def test_nothing_about_a_report_is_stored_but_pseudonym_and_bit(server: Running, made: str) -> None:
    server.report(next(asked_devices(server.question(made))), 1, task=made)
    columns = {name for (name,) in server.rows("SELECT name FROM pragma_table_info('reports')")}
    assert columns == {"task", "round", "device", "bit"}
    (opened,) = server.rows("SELECT DISTINCT opened_hour % 3600 FROM rounds")
    assert opened == (0,)
    for file in server.store.parent.iterdir():
        assert b"127.0.0.1" not in file.read_bytes()


def test_tokens_are_asked_for(tmp_path: Path) -> None:
    admin, device = "admin-token-0123456789", "device-token-0123456789"
    with Running(tmp_path / "s.sqlite", token=admin, device_token=device) as server:
        assert server.ask("POST", "/v1/tasks", CONFIG)[0] == 401
        assert server.ask("POST", "/v1/tasks", CONFIG, {"authorization": f"Bearer {device}"})[0] == 401
        for token, status in ((device, 413), (admin, 422)):  # an item list is read from nobody else
            head = {"authorization": f"Bearer {token}", "content-type": "application/json"}
            assert server.ask("POST", "/v1/tasks", b" " * 20_000, head)[0] == status
        assert server.ask("POST", "/v1/tasks", CONFIG, {"authorization": f"Bearer {admin}"})[0] == 201
        assert server.ask("GET", "/v1/tasks/films")[0] == 401
        assert server.ask("GET", "/v1/tasks/films", None, {"authorization": f"Bearer {device}"})[0] == 200
        assert server.close()[0] == 401
        assert server.report(b"0" * 16, 1)[0] == 401
        device_says = {"task": "films", "round": 1, "device": "00" * 16, "bit": 1}
        assert server.ask("POST", "/v1/reports", device_says, {"authorization": f"Bearer {admin}"})[0] == 401
        for path, status in (
            ("/v1/tasks", 200),
            ("/v1/tasks/films", 200),
            ("/v1/tasks/films/question", 200),
            ("/v1/tasks/films/released/1", 404),
        ):
            for token in (admin, device):
                assert server.ask("GET", path, None, {"authorization": f"Bearer {token}"})[0] == status
            for token in ("", "another-token-0123456789", admin + device):
                assert server.ask("GET", path, None, {"authorization": f"Bearer {token}"})[0] == 401


def test_a_token_for_devices_alone_keeps_reading_to_them(tmp_path: Path) -> None:
    device = "device-token-0123456789"
    with Running(tmp_path / "s.sqlite", device_token=device) as server:
        assert server.ask("GET", "/v1/tasks")[0] == 401
        assert server.ask("GET", "/v1/tasks", None, {"authorization": "Bearer None"})[0] == 401
        assert server.ask("GET", "/v1/tasks", None, {"authorization": f"Bearer {device}"})[0] == 200


@pytest.mark.parametrize(
    "change",
    [
        {"range": [0.0, 1e60]},
        {"epsilon": 1e-310},
        {"settings": {"goal": "rate", "groups": 2, "passes": 1, "spread": 1e-200}},
    ],
)
def test_tasks_that_could_never_be_released_are_refused(server: Running, change: dict[str, object]) -> None:
    status, body = server.ask("POST", "/v1/tasks", {**CONFIG, "task": "impossible", **change})
    assert status == 422, body


def test_a_round_that_cannot_be_counted_does_not_keep_the_collector_from_starting(tmp_path: Path) -> None:
    running = Running(tmp_path / "s.sqlite")
    running.start()
    question = running.create()
    running.create(task="songs")
    for device in itertools.islice(asked_devices(question), 5):
        assert running.report(device, 1)[0] == 200
    running.kill()
    connection = sqlite3.connect(tmp_path / "s.sqlite")
    damaged = question.to_json().replace('"items":40', '"items":41').encode()
    with connection:
        connection.execute("UPDATE rounds SET state = 'counting', question = ? WHERE task = 1", (damaged,))
    connection.close()
    with running:
        assert running.question("songs").round == 1
        assert running.ask("GET", "/v1/tasks/films/released/1")[0] == 404


@pytest.mark.parametrize("host", ["127.0.0.1.evil.example:8642", "[::2]:80", "a@b"])
def test_a_page_under_another_name_cannot_command_a_collector_without_a_token(
    server: Running, host: str
) -> None:
    """A browser on this machine can be led here by a name that its owner lets mean 127.0.0.1."""
    for path in ("/v1/tasks", "/v1/reports"):
        assert server.ask("POST", path, {**CONFIG, "task": "rebound"}, {"Host": host})[0] in (400, 421)
    assert server.ask("GET", "/v1/tasks", None, {"Host": host})[0] in (400, 421)
    for mine in ("localhost", "LOCALHOST:1", "127.0.0.1:8642", "[::1]:8642"):
        assert server.ask("GET", "/healthz", None, {"Host": mine})[0] == 200


def test_localhost_is_this_machine_and_with_a_token_any_name_is_answered(tmp_path: Path) -> None:
    with Running(tmp_path / "s.sqlite", host="LocalHost") as running:
        assert running.url == f"http://127.0.0.1:{running.port}"
        assert running.ask("GET", "/v1/tasks", None, {"Host": "localhost.evil.example"})[0] == 421
    with Running(tmp_path / "s.sqlite", token="0123456789abcdef") as running:
        assert running.ask("GET", "/v1/tasks", None, {"Host": "collector.example"})[0] == 200
