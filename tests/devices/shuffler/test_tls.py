"""Devices, shuffler and collector over TLS: each checks whom it talks to, and nothing goes unencrypted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.devices.collector.admin import Admin
from discreet.devices.collector.task_config import TaskConfig
from discreet.devices.device.client import answer_round, join
from discreet.devices.device.store import DeviceStore
from discreet.devices.device.transport import CollectorRefused, Connection, Unreachable
from tests.devices.support.identity import make_identity
from tests.devices.support.running import CONFIG, Running, wait_until
from tests.devices.support.shuffling import SHUFFLE, Shuffling

pytest.importorskip("cryptography.hazmat.primitives.hpke")

TOKEN, OTHER = "token-of-the-collector", "token-of-the-shuffler"


def settings_of(identity: tuple[Path, Path], token: str) -> dict[str, object]:
    return {"certificate": identity[0], "key": identity[1], "token": token}


def asked(shuffler: Shuffling, authorities: Path) -> bool:
    try:
        with Connection(shuffler.url, authorities=str(authorities)) as connection:
            return json.loads(connection.get("/v1/tasks/films/question"))["round"] == 1
    except (CollectorRefused, Unreachable):  # it has not seen the task yet
        return False


def test_a_round_over_tls(tmp_path: Path) -> None:
    ours, theirs = make_identity(tmp_path), make_identity(tmp_path, "shuffler")
    with Running(tmp_path / "s.sqlite", **settings_of(ours, TOKEN)) as collector:
        admin = Admin(collector.url, TOKEN, str(ours[0]))
        config = {**CONFIG, "minimum": 1, "shuffle": SHUFFLE}
        key = admin.create(TaskConfig.model_validate_json(json.dumps(config)))["collector_key"]
        through = {"authorities": str(ours[0]), **settings_of(theirs, OTHER)}
        with Shuffling(tmp_path, collector, **through) as shuffler:
            wait_until(lambda: asked(shuffler, theirs[0]))
            answered = number = 0
            while answered < 4:  # which devices a round asks is chance
                number += 1
                with (
                    DeviceStore(tmp_path / f"{number}.sqlite") as store,
                    Connection(shuffler.url, authorities=str(theirs[0])) as connection,
                ):
                    join(store, connection, "films", 4.0, collector_key=key)
                    answered += answer_round(store, connection, "films", 0.0).result == "answered"
            wait_until(lambda: len(collector.kept()) >= answered - 1)
            with (
                Connection(shuffler.url, authorities=str(ours[0])) as deceived,
                pytest.raises(Unreachable, match=r"(?i)certificate"),
            ):
                deceived.get(
                    "/v1/tasks/films/question"
                )  # the collector's name does not vouch for the shuffler
            with pytest.raises(OSError):
                shuffler.ask("GET", "/healthz")  # not encrypted


def test_a_collector_nobody_vouches_for_is_told_nothing(tmp_path: Path) -> None:
    ours, theirs = make_identity(tmp_path), make_identity(tmp_path, "shuffler")
    with Running(tmp_path / "s.sqlite", **settings_of(ours, TOKEN)) as collector:
        admin = Admin(collector.url, TOKEN, str(ours[0]))
        config = {**CONFIG, "minimum": 1, "shuffle": SHUFFLE}
        admin.create(TaskConfig.model_validate_json(json.dumps(config)))
        with Shuffling(tmp_path, collector, authorities=str(theirs[0])) as shuffler:
            wait_until(lambda: shuffler.ask("GET", "/health/ready")[0] == 503)
            status, body = shuffler.ask("GET", "/v1/tasks/films/question")
            assert status == 503
            assert "cannot be reached" in json.loads(body)["error"]
