"""A collector killed at random moments under load loses no answered report and counts none twice."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import signal
import threading
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

from discreet.devices.collector.task_config import TaskConfig
from discreet.devices.device.question import Question
from discreet.devices.estimator import Estimator
from discreet.devices.learner import Estimate
from tests.devices.support.running import CONFIG, PATIENCE, Running, asked_devices, body_of, wait_until
from tests.sizes import sized

KILLS = sized(10, 200)
EACH = 20
"""Reports that are answered before each kill, at least."""


class _Devices:
    """Load without end: devices sending, repeating what was not answered, until told to stop."""

    def __init__(self, question: Question, port: int) -> None:
        self.sent: dict[bytes, int] = {}
        self.acknowledged: dict[bytes, int] = {}
        self.refused: list[tuple[bytes, int]] = []
        self.victim, self.victim_after = 0, 0  # process to kill as soon as that many reports are answered
        self._question, self._port, self._stop = question, port, threading.Event()
        self._threads = [threading.Thread(target=self._send) for _ in range(12)]

    def __enter__(self) -> _Devices:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()

    def _send(self) -> None:
        wire = HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        for device in asked_devices(self._question):
            bit = self.sent[device] = device[0] & 1
            status = 0
            while not status:
                if self._stop.is_set():
                    wire.close()
                    return
                try:
                    body = body_of(self._question, device, bit)
                    wire.request("POST", "/v1/reports", body, {"content-type": "application/json"})
                    response = wire.getresponse()
                    status = response.status
                    response.read()
                except (OSError, HTTPException):
                    wire.close()
                    time.sleep(0.02)
            self._answered(device, bit, status)

    def _answered(self, device: bytes, bit: int, status: int) -> None:
        if status != 200:
            self.refused.append((device, status))
            return
        self.acknowledged[device] = bit
        if self.victim and len(self.acknowledged) >= self.victim_after:
            victim, self.victim = self.victim, 0
            if victim:
                os.kill(victim, signal.SIGKILL)


@pytest.mark.timeout(300 + 30 * KILLS)
def test_no_answered_report_is_lost_and_none_is_counted_twice(tmp_path: Path) -> None:
    with Running(tmp_path / "s.sqlite") as server:
        question = server.create(minimum=1)
        with _Devices(question, server.port) as devices:
            for kill in range(KILLS):
                before = len(devices.acknowledged)
                if kill % 2:  # at any moment of the load
                    wait_until(lambda before=before: len(devices.acknowledged) > before + EACH)
                    time.sleep(random.uniform(0.0, 0.25))
                    server.kill()
                else:  # at the very moment an answer arrives: had it been sent before the commit, it would be lost
                    devices.victim_after = before + EACH + random.randrange(1, 100)
                    devices.victim = server.process.pid or 0
                    server.process.join(PATIENCE)
                    assert not server.process.is_alive()
                answered = devices.acknowledged.copy()
                kept = server.kept()
                assert answered.items() <= kept.items()
                server.start()
        kept = server.kept()
        assert not devices.refused
        assert devices.acknowledged.items() <= kept.items() <= devices.sent.items()
        assert len(devices.acknowledged) > EACH * KILLS
        assert json.loads(server.close()[1])["reports"] == len(kept)
        offline = Estimator(question)
        offline.add(list(kept), list(kept.values()))
        learner = TaskConfig.model_validate_json(json.dumps({**CONFIG, "minimum": 1})).learner()
        learner = learner.after(Estimate(offline.estimate(), len(kept)))
        assert server.ask("GET", "/v1/tasks/films/released/1")[1] == learner.released()


def test_a_release_broken_off_by_a_kill_is_finished_with_the_same_bytes(tmp_path: Path) -> None:
    with Running(tmp_path / "s.sqlite") as server:
        for attempt in range(max(4, KILLS // 2)):
            question = server.create(task=f"films-{attempt}")
            bits = {device: device[0] & 1 for device in itertools.islice(asked_devices(question), 20)}
            for device, bit in bits.items():
                assert server.report(device, bit, task=question.task)[0] == 200
            if (
                attempt == 0
            ):  # the moment that matters is there whatever the clock does: sealed, and not yet counted
                server.kill()
                server.write("UPDATE rounds SET state = 'counting'")
            else:
                ending = threading.Thread(target=_close, args=(server, question.task))
                ending.start()
                time.sleep(random.uniform(0.0, 0.06))
                server.kill()
                ending.join()
            ((state,),) = server.rows(
                f"SELECT state FROM rounds JOIN tasks ON id = rounds.task WHERE tasks.task = '{question.task}'"
                " AND round = 1"
            )
            assert state in ("open", "counting", "released") if attempt else state == "counting"
            server.start()
            if state == "open":
                assert server.close(task=question.task)[0] == 200
            wait_until(lambda name=question.task: server.question(name).round == 2)
            offline = Estimator(question)
            offline.add(list(bits), list(bits.values()))
            learner = TaskConfig.model_validate_json(json.dumps({**CONFIG, "task": question.task})).learner()
            learner = learner.after(Estimate(offline.estimate(), len(bits)))
            released = server.ask("GET", f"/v1/tasks/{question.task}/released/1")[1]
            assert released == learner.released()


def _close(server: Running, task: str) -> None:
    with contextlib.suppress(OSError, HTTPException):  # the connection may be cut anywhere
        server.close(task=task)
