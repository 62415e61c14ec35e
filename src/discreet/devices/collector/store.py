"""The collector's one file: tasks, rounds with what was released, and reports.

A report is a task, a round, a pseudonym and a bit. There is no time, no address and no order of arrival: rows
lie sorted by pseudonym, which is random. Rounds carry the hour in which they were opened and released.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, NamedTuple

from discreet.devices.collector.schema import check_version, prepare
from discreet.errors import SettingsInvalid
from discreet.privacy.account.locks import try_lock
from discreet.private_files import make_private, open_private

__all__ = [
    "RECORD",
    "Counted",
    "RoundRow",
    "Store",
    "StoredTask",
    "count_reports",
    "delete_reports",
    "delete_task",
    "hour",
    "open_round",
    "opened_hour",
    "read_reports",
    "release_round",
    "rounds",
    "seal_round",
    "tasks",
]

RECORD = 17  # bytes of a pseudonym and a bit
CHUNK = 8192  # reports read at a time when a round is counted


class StoredTask(NamedTuple):
    """A task as it was created, its configuration as JSON."""

    id: int
    task: str
    config: str


class RoundRow(NamedTuple):
    """A round as stored; the last three are there once it is released."""

    round: int
    question: bytes
    state: str
    reports: int | None
    estimate: bytes | None
    released: bytes | None


class Counted(NamedTuple):
    """What counting a round gave, stored when it is released."""

    reports: int
    estimate: bytes
    released: bytes


def hour() -> int:
    """The present time, rounded down to the hour, in seconds since 1970."""
    return int(time.time()) // 3600 * 3600


class Store:
    """Opens the file, and keeps a second collector from using it at the same time."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        _refuse_foreign(self.path)
        self._lock = _lock(self.path)
        try:
            make_private(self.path)
            with closing(self.connect()) as connection:
                prepare(connection)
        except sqlite3.DatabaseError as error:
            self._lock.close()
            raise _unusable(self.path, error) from error
        except BaseException:
            self._lock.close()
            raise

    def connect(self) -> sqlite3.Connection:
        """A connection whose commits are on disk when they return."""
        connection = _open(self.path)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA wal_autocheckpoint = 4000")
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Let another collector use the file."""
        self._lock.close()


def tasks(connection: sqlite3.Connection) -> list[StoredTask]:
    """All tasks, oldest first."""
    found = connection.execute("SELECT id, task, config FROM tasks ORDER BY id")
    return [StoredTask(*row) for row in found]


def rounds(connection: sqlite3.Connection, task: int) -> list[RoundRow]:
    """A task's rounds in order."""
    found = connection.execute(
        "SELECT round, question, state, reports, estimate, released FROM rounds WHERE task = ? ORDER BY round",
        (task,),
    )
    return [RoundRow(*row) for row in found]


def open_round(connection: sqlite3.Connection, task: int, number: int, question: bytes) -> None:
    """Write a new open round."""
    connection.execute(
        "INSERT INTO rounds(task, round, question, state, opened_hour) VALUES (?, ?, ?, 'open', ?)",
        (task, number, question, hour()),
    )


def count_reports(connection: sqlite3.Connection, task: int, number: int) -> int:
    """Reports of a round."""
    row = connection.execute(
        "SELECT count(*) FROM reports WHERE task = ? AND round = ?", (task, number)
    ).fetchone()
    return int(row[0])


def opened_hour(connection: sqlite3.Connection, task: int, number: int) -> int:
    """The hour in which a round was opened, in seconds since 1970."""
    row = connection.execute(
        "SELECT opened_hour FROM rounds WHERE task = ? AND round = ?", (task, number)
    ).fetchone()
    return int(row[0])


def delete_reports(connection: sqlite3.Connection, task: int | None, before: int | None) -> int:
    """Delete reports of rounds that are released, and overwrite them; what was released stays. Gives how many."""
    connection.execute("PRAGMA secure_delete = ON")
    try:
        found = connection.execute(
            "DELETE FROM reports WHERE (task, round) IN (SELECT task, round FROM rounds WHERE state = 'released'"
            " AND (:task IS NULL OR task = :task) AND (:before IS NULL OR released_hour <= :before))",
            {"task": task, "before": before},
        )
        return found.rowcount
    finally:
        connection.execute("PRAGMA secure_delete = OFF")


def delete_task(connection: sqlite3.Connection, task: int) -> None:
    """Delete a task, its rounds and their reports, and overwrite them."""
    connection.execute("PRAGMA secure_delete = ON")
    try:
        for table in ("reports", "rounds"):
            connection.execute(f"DELETE FROM {table} WHERE task = ?", (task,))
        connection.execute("DELETE FROM tasks WHERE id = ?", (task,))
    finally:
        connection.execute("PRAGMA secure_delete = OFF")


def seal_round(connection: sqlite3.Connection, task: int, number: int) -> None:
    """Take no more reports for a round; from here on its reports cannot change."""
    connection.execute(
        "UPDATE rounds SET state = 'counting' WHERE task = ? AND round = ? AND state = 'open'", (task, number)
    )


def release_round(connection: sqlite3.Connection, task: int, number: int, counted: Counted) -> None:
    """Store what a sealed round released; it happens once, or not at all."""
    changed = connection.execute(
        "UPDATE rounds SET state = 'released', released_hour = ?, reports = ?, estimate = ?, released = ?"
        " WHERE task = ? AND round = ? AND state = 'counting'",
        (hour(), *counted, task, number),
    )
    if changed.rowcount != 1:
        raise sqlite3.IntegrityError("a round can be released once only")


def read_reports(
    connection: sqlite3.Connection, task: int, number: int
) -> Iterator[tuple[list[bytes], list[int]]]:
    """Yield pseudonyms and bits of a sealed round, some thousands at a time.

    Each chunk is one row of one query: stepping through rows one by one would take turns with the event loop
    for the interpreter at every row.
    """
    after = b""
    while True:
        last, text = connection.execute(
            "SELECT max(device), group_concat(hex(device) || bit, '') FROM (SELECT device, bit FROM reports"
            " WHERE task = ? AND round = ? AND device > ? ORDER BY device LIMIT ?)",
            (task, number, after, CHUNK),
        ).fetchone()
        if last is None:
            return
        width = 2 * 16 + 1
        rows = [text[start : start + width] for start in range(0, len(text), width)]
        yield [bytes.fromhex(row[:-1]) for row in rows], [int(row[-1]) for row in rows]
        after = last


def _lock(path: Path) -> IO[bytes]:
    try:
        lock = os.fdopen(open_private(path.with_name(path.name + ".lock")), "ab")
    except OSError as error:
        raise SettingsInvalid(f"the collector's store cannot be made at {path}: {error.strerror}") from error
    if not try_lock(lock.fileno()):
        lock.close()
        raise SettingsInvalid(f"{path} is in use by another collector; stop it or choose another file")
    return lock


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30.0)


def _refuse_foreign(path: Path) -> None:
    """Refuse what is there and is not a collector's, before anything is written: settings or the lock's file."""
    if not os.path.exists(path):
        return
    if not os.path.isfile(path):
        raise SettingsInvalid(f"{path} is not a file; the collector's store is one file")
    try:
        with closing(_open(path)) as connection:
            check_version(path, connection)
    except sqlite3.DatabaseError as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, error: sqlite3.Error) -> SettingsInvalid:
    return SettingsInvalid(f"{path} cannot be used as the collector's store: {error}")
