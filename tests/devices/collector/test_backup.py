"""Copies of a store, and files that are none."""

from __future__ import annotations

import itertools
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from discreet.devices.collector.store import Store, back_up, restore
from discreet.devices.collector.tasks import read_tasks
from discreet.errors import SettingsInvalid
from tests.devices.support.running import Running, asked_devices


def tasks_of(store: Store) -> int:
    return len(read_tasks(store))


def test_a_copy_taken_while_it_runs_goes_on_as_the_store_did(tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite"
    with Running(tmp_path / "s.sqlite") as server:
        question = server.create()
        before = list(itertools.islice(asked_devices(question), 6))
        for device in before:
            assert server.report(device, 1)[0] == 200
        back_up(server.store, copy)
        assert server.report(next(asked_devices(question)), 1)[0] == 200  # not in the copy
    assert copy.stat().st_mode & 0o777 == 0o600
    assert restore(copy, tmp_path / "new.sqlite", tasks_of) == 1
    with Running(tmp_path / "new.sqlite") as again:
        assert again.question() == question
        assert again.kept() == dict.fromkeys(before, 1)
        assert again.close()[0] == 200


def test_nothing_is_overwritten_and_nothing_half_written(tmp_path: Path) -> None:
    Store(tmp_path / "s.sqlite").close()
    (tmp_path / "there").write_text("mine")
    with pytest.raises(SettingsInvalid, match="is there already"):
        back_up(tmp_path / "s.sqlite", tmp_path / "there")
    with pytest.raises(SettingsInvalid, match="is there already"):
        restore(tmp_path / "s.sqlite", tmp_path / "there", tasks_of)
    assert (tmp_path / "there").read_text() == "mine"
    with pytest.raises(SettingsInvalid, match="there is no"):
        restore(tmp_path / "nothing", tmp_path / "new", tasks_of)
    with pytest.raises(SettingsInvalid, match="there is no"):
        back_up(tmp_path / "nothing", tmp_path / "new")
    with closing(sqlite3.connect(tmp_path / "foreign")) as foreign, foreign:
        foreign.execute("CREATE TABLE mine(x)")
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("not a database at all, and long enough to be looked at" * 20)
    for name in ("foreign", "empty", "text"):
        with pytest.raises(SettingsInvalid, match=r"not a collector's store|cannot be copied"):
            restore(tmp_path / name, tmp_path / "new", tasks_of)
    with pytest.raises(SettingsInvalid, match="cannot be written"):
        back_up(tmp_path / "s.sqlite", tmp_path / "nowhere" / "copy")
    assert not [file for file in tmp_path.iterdir() if file.name.startswith("new")]


def test_a_damaged_copy_is_refused(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "s.sqlite")) as store, closing(store.connect()) as connection:
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO reports VALUES (1, 1, ?, 1)",
            [(number.to_bytes(16, "big"),) for number in range(2000)],
        )
        connection.execute("COMMIT")
    back_up(tmp_path / "s.sqlite", tmp_path / "copy")
    whole = (tmp_path / "copy").read_bytes()
    middle = len(whole) // 4096 // 2 * 4096
    (tmp_path / "copy").write_bytes(whole[:middle] + b"\xff" * 4096 + whole[middle + 4096 :])
    with pytest.raises(SettingsInvalid, match=r"damaged|cannot be copied"):
        restore(tmp_path / "copy", tmp_path / "new", tasks_of)
    (tmp_path / "copy").write_bytes(whole)
    with closing(sqlite3.connect(tmp_path / "copy")) as connection, connection:
        connection.execute("INSERT INTO tasks(task, config) VALUES ('films', 'not one')")
    with pytest.raises(SettingsInvalid, match=r"task films in .* is damaged"):
        restore(tmp_path / "copy", tmp_path / "new", tasks_of)
    assert not [file for file in tmp_path.iterdir() if file.name.startswith("new")]
