"""Beyond this machine: encrypted, with a token, and devices that check whom they talk to."""

from __future__ import annotations

import json
import socket
import ssl
from pathlib import Path

import pytest

from discreet.devices.collector.admin import Admin
from discreet.devices.collector.serve import serve
from discreet.devices.collector.settings import CollectorSettings
from discreet.devices.collector.task_config import TaskConfig
from discreet.devices.device.client import answer_round, join
from discreet.devices.device.store import DeviceStore
from discreet.devices.device.transport import Connection, Unreachable
from discreet.errors import SettingsInvalid
from tests.devices.support.identity import make_identity
from tests.devices.support.running import CONFIG, Running, is_open, wait_until

pytest.importorskip("cryptography.x509")

TOKEN = "token-of-the-collector"


@pytest.fixture
def identity(tmp_path: Path) -> tuple[Path, Path]:
    return make_identity(tmp_path)


def test_all_addresses_with_tls_and_token(tmp_path: Path, identity: tuple[Path, Path]) -> None:
    certificate, key = identity
    given = {"host": "0.0.0.0", "certificate": certificate, "key": key, "token": TOKEN}
    with Running(tmp_path / "s.sqlite", **given) as server:
        url = f"https://127.0.0.1:{server.port}"
        admin = Admin(url, TOKEN, str(certificate))
        admin.create(TaskConfig.model_validate_json(json.dumps({**CONFIG, "minimum": 1})))
        assert admin.tasks() == ["films"]
        with (
            DeviceStore(tmp_path / "me.sqlite") as store,
            Connection(url, authorities=str(certificate)) as connection,
        ):
            join(store, connection, "films", 4.0)
            assert answer_round(store, connection, "films", 0.0).result in ("answered", "not asked")
        with Connection(url) as stranger, pytest.raises(Unreachable, match=r"(?i)certificate"):
            stranger.get("/v1/tasks")  # nobody vouches for it
        with pytest.raises((OSError, ssl.SSLError)):
            server.ask("GET", "/healthz")  # not encrypted


def test_a_client_that_never_shakes_hands_holds_its_own_connections_alone(
    tmp_path: Path, identity: tuple[Path, Path]
) -> None:
    certificate, key = identity
    given = {"certificate": certificate, "key": key, "token": TOKEN, "connections": 5, "all_connections": 50}
    with Running(tmp_path / "s.sqlite", **given) as server:
        held = [
            socket.create_connection(("127.0.0.1", server.port), source_address=("127.0.0.2", 0))
            for _ in range(60)
        ]
        url = f"https://127.0.0.1:{server.port}"
        for _ in range(60):  # and those that end give their places back
            with Connection(url, authorities=str(certificate)) as connection:
                assert connection.get("/healthz") == b'{"ok":true}'
        with socket.create_connection(("127.0.0.1", server.port)) as nonsense:
            nonsense.sendall(b"GET / HTTP/1.1\r\n\r\n")
        wait_until(lambda: sum(is_open(wire) for wire in held) == 5)
        for wire in held:
            wire.close()

        def free() -> bool:
            with socket.create_connection(
                ("127.0.0.1", server.port), source_address=("127.0.0.2", 0)
            ) as again:
                again.sendall(b"x")
                return is_open(again, 0.2)

        wait_until(free)


def test_a_certificate_that_is_none_is_a_persons_mistake(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("no certificate")
    with pytest.raises(SettingsInvalid, match="cannot be used for TLS"):
        serve(CollectorSettings(store=tmp_path / "s.sqlite", certificate=tmp_path / "c", key=tmp_path / "c"))
