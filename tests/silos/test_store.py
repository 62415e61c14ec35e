"""The store of a party: what is committed is on the disk, and what is deleted is gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.silos.shared.store import Store

SECRET = b"an exact total that must not be found again" * 50


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "silo.db", 7, "CREATE TABLE kept(body BLOB) STRICT", "a run")
    yield made
    made.close()


def test_a_commit_waits_for_the_disk(store: Store) -> None:
    """2 is FULL: the log is synced at every commit, so that no power cut undoes a charge whose answer has left."""
    assert store.rows("PRAGMA synchronous") == [(2,)]
    assert store.rows("PRAGMA journal_mode") == [("wal",)]


def test_what_is_deleted_is_nowhere_on_the_disk(store: Store, tmp_path: Path) -> None:
    with store.transaction():
        store.write("INSERT INTO kept VALUES (?)", SECRET)
    assert _found(tmp_path)
    with store.transaction():
        store.write("UPDATE kept SET body = NULL")
    store.forget_deleted()
    assert not _found(tmp_path)


def _found(folder: Path) -> bool:
    return any(SECRET[:40] in path.read_bytes() for path in folder.iterdir())
