"""What an operator sees of a collector, and what it does by itself: counts, log, health, rules, deletion."""

from __future__ import annotations

import itertools
import json
import re
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from discreet.devices.collector.admin import Admin
from discreet.devices.collector.operations import KINDS
from discreet.devices.collector.task_config import TaskConfig
from discreet.devices.device.question import Question
from discreet.errors import Refused
from tests.devices.support.running import CONFIG, Running, asked_devices, wait_until

TOKEN = "0123456789abcdef"
MINE = {"authorization": f"Bearer {TOKEN}"}
LINE = re.compile(r'[a-z_]+(\{[a-z_]+="[a-z0-9_-]+"(,[a-z_]+="[a-z0-9_-]+")*\})? [0-9]+\.0\Z')


def make(server: Running, **changes: Any) -> None:
    assert server.ask("POST", "/v1/tasks", {**CONFIG, **changes}, MINE)[0] == 201


def numbers(server: Running) -> dict[str, int]:
    status, body = server.ask("GET", "/metrics", headers=MINE)
    assert status == 200
    lines = [line for line in body.decode().splitlines() if not line.startswith("#")]
    assert all(LINE.match(line) for line in lines), lines
    return {name: int(float(value)) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_the_operators_own_commands_are_no_refusals(tmp_path: Path) -> None:
    """A task is created with a look at the token first; with a wrong one the item list is not sent."""
    with Running(tmp_path / "s.sqlite", token=TOKEN) as server:
        config = TaskConfig.model_validate_json(json.dumps(CONFIG))
        Admin(server.url, token=TOKEN).create(config)
        with pytest.raises(Refused, match="401"):
            Admin(server.url, token=TOKEN[::-1]).create(config)
        counts = {name: value for name, value in numbers(server).items() if "refused" in name and value}
        assert counts == {'discreet_collector_requests_refused_total{kind="no_token"}': 1}


def test_refusals_are_counted_by_kind_and_nobody_is_named(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Running(tmp_path / "s.sqlite", log=log, token=TOKEN, tick=0.05) as server:
        make(server)
        question = Question.from_json(server.ask("GET", "/v1/tasks/films/question", headers=MINE)[1])
        devices = list(itertools.islice(asked_devices(question), 6))
        for device in devices:
            assert server.report(device, 1)[0] == 200
        assert server.report(devices[0], 0)[0] == 409
        assert server.report(devices[0], 2)[0] == 422
        assert server.report(devices[0], 1, task="nobody")[0] == 404
        assert server.ask("POST", "/v1/tasks/films/close", {"round": 1})[0] == 401
        assert server.ask("POST", "/v1/reports", b"x" * 20_000)[0] == 413
        for path in ("/metrics", "/v1/tasks/films/count"):
            assert server.ask("GET", path)[0] == 401
        found = numbers(server)
        assert found["discreet_collector_reports_accepted_total"] == 6
        refused = {
            kind: found[f'discreet_collector_requests_refused_total{{kind="{kind}"}}']
            for kind in KINDS.values()
        }
        assert {kind: count for kind, count in refused.items() if count} == {
            "conflict": 1,
            "malformed": 1,
            "not_found": 1,
            "no_token": 3,
            "too_large": 1,
        }
        assert found['discreet_collector_round_reports{task="films"}'] == 6
        assert found['discreet_collector_round{task="films"}'] == 1
        assert found["discreet_collector_ready"] == 1
        assert json.loads(server.ask("GET", "/v1/tasks/films/count", headers=MINE)[1]) == {
            "task": "films",
            "round": 1,
            "reports": 6,
            "minimum": 5,
            "released": [],
        }
        assert server.ask("POST", "/v1/tasks/films/close", {"round": 1}, MINE)[0] == 200
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    events = [line["event"] for line in lines]
    assert events[0] == "started"
    assert events[-1] == "stopped"
    assert {"task created", "round released", "counts"} <= set(events)
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z", line["time"]) for line in lines)
    counts = [line for line in lines if line["event"] == "counts"]
    assert sum(line["accepted"] for line in counts) == 6
    assert sum(line["refused"].get("no_token", 0) for line in counts) == 3
    text = log.read_text()
    for secret in (TOKEN, "127.0.0.1", "nobody", *(device.hex() for device in devices)):
        assert secret not in text


def test_alive_is_not_ready_where_the_store_cannot_be_written(tmp_path: Path) -> None:
    with Running(tmp_path / "s.sqlite", largest_file=150_000) as server:
        question = server.create()
        assert server.ask("GET", "/health/ready") == (200, b'{"ok":true}')
        for device in itertools.islice(asked_devices(question), 400):
            if server.report(device, 1)[0] != 200:
                break
        wire = HTTPConnection("127.0.0.1", server.port)
        wire.request("GET", "/health/ready")
        answer = wire.getresponse()
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")
        assert "could not be written" in json.loads(answer.read())["error"]
        wire.close()
        for path in ("/health/live", "/healthz"):
            assert server.ask("GET", path) == (200, b'{"ok":true}')


def test_a_round_ends_by_itself_with_enough_reports_and_not_before(tmp_path: Path) -> None:
    with Running(tmp_path / "s.sqlite", tick=0.02) as server:
        question = server.create(enough=8)
        devices = list(itertools.islice(asked_devices(question), 8))
        for device in devices[:7]:
            assert server.report(device, 1)[0] == 200
        assert server.question().round == 1
        assert server.report(devices[7], 1)[0] == 200
        wait_until(lambda: server.question().round == 2)
        assert server.rows("SELECT reports FROM rounds WHERE state = 'released'") == [(8,)]


def test_a_deadline_ends_a_round_that_has_the_minimum_and_no_other(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Running(tmp_path / "s.sqlite", tick=0.02, log=log) as server:
        for name, count in (("late", 5), ("few", 4), ("early", 5)):
            question = server.create(task=name, hours=1000.0 if name == "early" else 2.0)
            for device in itertools.islice(asked_devices(question), count):
                assert server.report(device, 1, task=name)[0] == 200
        server.kill()
        server.write("UPDATE rounds SET opened_hour = opened_hour - 4 * 3600")
        server.start()
        wait_until(lambda: server.question("late").round == 2)
        wait_until(lambda: '"deadline passed"' in log.read_text())
        assert server.question("few").round == 1
        assert server.question("early").round == 1
    told = [json.loads(line) for line in log.read_text().splitlines() if "deadline passed" in line]
    assert [(line["task"], line["reports"], line["minimum"]) for line in told] == [("few", 4, 5)]


def test_reports_are_deleted_and_overwritten_when_told_to(tmp_path: Path) -> None:
    with Running(tmp_path / "s.sqlite") as server:
        question = server.create()
        devices = list(itertools.islice(asked_devices(question), 80))
        for device in devices:
            assert server.report(device, 1)[0] == 200
        assert (
            json.loads(server.ask("POST", "/v1/tasks/films/delete", {"what": "reports"})[1])["deleted"] == 0
        )
        assert server.ask("POST", "/v1/tasks/films/delete", {"what": "task"})[0] == 409
        assert server.close()[0] == 200
        released = server.ask("GET", "/v1/tasks/films/released/1")
        last = list(itertools.islice(asked_devices(server.question()), 5))
        for device in last:
            assert server.report(device, 1, 2)[0] == 200
        assert (
            json.loads(server.ask("POST", "/v1/tasks/films/delete", {"what": "reports"})[1])["deleted"] == 80
        )
        assert server.kept(1) == {}
        assert server.kept(2).keys() == set(last)
        assert server.ask("GET", "/v1/tasks/films/released/1") == released
        assert server.close(2)[0] == 200
    file = server.store.read_bytes()  # closed, so that its log is folded in
    assert not any(device in file for device in devices)
    with Running(server.store) as again:
        assert again.ask("GET", "/v1/tasks/films/released/1") == released
        assert (
            json.loads(again.ask("POST", "/v1/tasks/films/delete", {"what": "task"})[1])["deleted"] == "task"
        )
        assert again.ask("GET", "/v1/tasks/films")[0] == 404
        assert again.rows("SELECT count(*) FROM reports") == [(0,)]
        assert again.create().round == 1
