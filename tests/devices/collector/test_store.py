"""Whose file it is, counting in little memory, and a disk that is full."""

from __future__ import annotations

import itertools
import os
import sqlite3
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from discreet.devices.collector import store as stored
from discreet.devices.collector.app import CollectorSettings, serve
from discreet.devices.collector.store import Store
from discreet.errors import SettingsInvalid
from tests.devices.support.running import Running, asked_devices

TOKEN = "0123456789abcdef"


def test_reports_are_read_once_each_in_memory_that_does_not_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunk = 1000
    monkeypatch.setattr(stored, "CHUNK", chunk)
    peaks = []
    for number, chunks in enumerate((2, 12)):
        store = Store(tmp_path / f"{number}.sqlite")
        with closing(store.connect()) as connection:
            sent = {os.urandom(16): place % 2 for place in range(chunks * chunk + 17)}
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO reports VALUES (1, 3, ?, ?)", sent.items())
            connection.executemany("INSERT INTO reports VALUES (1, 4, ?, 1)", [(b"x" * 16,)])
            connection.executemany("INSERT INTO reports VALUES (2, 3, ?, 1)", [(b"y" * 16,)])
            connection.execute("COMMIT")
            left = dict(sent)
            for devices, bits in store.reports(1, 3):
                assert len(devices) <= chunk
                assert all(left.pop(device) == bit for device, bit in zip(devices, bits, strict=True))
            assert not left
            tracemalloc.start()
            assert sum(len(devices) for devices, _ in store.reports(1, 3)) == len(sent)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        store.close()
    assert peaks[1] < 1.2 * peaks[0]


def test_a_full_disk_is_never_answered_with_yes(tmp_path: Path) -> None:
    with Running(tmp_path / "s.sqlite", largest_file=150_000) as server:
        question = server.create()
        answers = []
        for device in itertools.islice(asked_devices(question), 400):
            status, _ = server.report(device, 1)
            answers.append((device, status))
            if status != 200:
                break
        assert answers[-1][1] == 503
        assert server.ask("GET", "/v1/tasks/films")[0] == 200
        assert server.report(answers[-1][0], 1)[0] == 503
        server.kill()
        assert set(server.kept()) == {device for device, status in answers if status == 200}
        server._largest_file = None
        server.start()
        assert server.report(answers[-1][0], 1)[0] == 200


def test_every_connection_has_what_it_promised_on_disk(tmp_path: Path) -> None:
    for _ in ("new", "there already"):
        store = Store(tmp_path / "s.sqlite")
        for _ in ("writer", "reader"):
            with closing(store.connect()) as connection:
                found = {
                    name: connection.execute(f"PRAGMA {name}").fetchone()[0]
                    for name in ("journal_mode", "synchronous", "foreign_keys", "wal_autocheckpoint")
                }
            assert found == {
                "journal_mode": "wal",
                "synchronous": 2,
                "foreign_keys": 1,
                "wal_autocheckpoint": 4000,
            }
        store.close()


def test_the_order_in_which_reports_came_is_nowhere(tmp_path: Path) -> None:
    """A table of SQLite numbers its rows as they come, unless it is told not to."""
    with closing(Store(tmp_path / "s.sqlite")) as store, closing(store.connect()) as connection:
        came = [os.urandom(16) for _ in range(50)]
        connection.executemany("INSERT INTO reports VALUES (1, 1, ?, 1)", [(device,) for device in came])
        for hidden in ("rowid", "oid", "_rowid_"):
            with pytest.raises(sqlite3.OperationalError, match="no such column"):
                connection.execute(f"SELECT {hidden} FROM reports")
        lie = [bytes(device) for (device,) in connection.execute("SELECT device FROM reports")]
    assert lie == sorted(came)


@pytest.mark.parametrize("host", ["0.0.0.0", "localhost.example.org"])
@pytest.mark.parametrize("given", [{}, {"token": TOKEN}, {"behind_proxy": True}])
def test_beyond_this_machine_needs_a_proxy_and_a_token(
    tmp_path: Path, host: str, given: dict[str, Any]
) -> None:
    with pytest.raises(SettingsInvalid, match="can be reached from other machines"):
        serve(CollectorSettings(store=tmp_path / "s.sqlite", host=host, **given))


def test_a_short_token_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="at least 16"):
        serve(CollectorSettings(store=tmp_path / "s.sqlite", token="short"))


def test_a_store_has_one_collector_at_a_time_and_is_not_another_programs_file(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.sqlite")
    with pytest.raises(SettingsInvalid, match="in use"):
        Store(tmp_path / "s.sqlite")
    store.close()
    Store(tmp_path / "s.sqlite").close()
    path = tmp_path / "theirs.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs(value)")
    before = path.read_bytes()
    with pytest.raises(SettingsInvalid, match="not a collector's store"):
        Store(path)
    assert path.read_bytes() == before
    (tmp_path / "text").write_text("not a database at all, but long enough to look like one" * 50)
    with pytest.raises(SettingsInvalid, match="cannot be used"):
        Store(tmp_path / "text")
    with pytest.raises(SettingsInvalid, match="cannot be made"):
        Store(tmp_path / "nowhere" / "s.sqlite")
