"""The shuffler's one file: who answered the open round, sealed reports that wait, and batches to be handed on.

A pseudonym stands beside its sealed report until both are mixed; from then on there is no way back. Nothing has a time
or an order of arrival. What is deleted is overwritten, and cut off the write-ahead log.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from discreet.devices.collector.messages import MOST_SEALED
from discreet.devices.device.shuffled import SEALED_BYTES
from discreet.errors import SettingsInvalid
from discreet.privacy.account.locks import try_lock

__all__ = ["Kept", "Piece", "ShufflerStore"]

APPLICATION = 0x64736873  # "dshs"
VERSION = 1
TABLES = f"""
CREATE TABLE tasks(task TEXT PRIMARY KEY, offer TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE rounds(
    task TEXT PRIMARY KEY REFERENCES tasks(task),
    round INTEGER NOT NULL,
    question BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE reports(
    task TEXT NOT NULL,
    round INTEGER NOT NULL,
    device BLOB NOT NULL CHECK (length(device) = 16),
    sealed BLOB CHECK (length(sealed) = {SEALED_BYTES}),
    PRIMARY KEY (task, round, device)
) STRICT, WITHOUT ROWID;
CREATE TABLE pieces(
    id INTEGER PRIMARY KEY,
    task TEXT NOT NULL,
    round INTEGER NOT NULL,
    reports BLOB NOT NULL
) STRICT;
"""


class Kept(NamedTuple):
    """A report to be kept: of whom, for which round, and sealed to the collector."""

    task: str
    round: int
    device: bytes
    sealed: bytes


class Piece(NamedTuple):
    """A part of a mixed batch, small enough for one request."""

    id: int
    task: str
    round: int
    reports: bytes


class ShufflerStore:
    """Opens the file, and keeps a second shuffler from using it at the same time; calls may come from any thread."""

    def __init__(self, path: Path) -> None:
        self._turn = Lock()
        try:
            self._lock = path.with_name(path.name + ".lock").open("ab")
        except OSError as error:
            raise SettingsInvalid(
                f"the shuffler's store cannot be made at {path}: {error.strerror}"
            ) from error
        try:
            if not try_lock(self._lock.fileno()):
                raise BlockingIOError
            self._connection = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, timeout=30.0
            )
        except OSError as error:
            self._lock.close()
            raise SettingsInvalid(f"{path} is in use by another shuffler; choose another file") from error
        try:
            self._prepare(path)
        except sqlite3.DatabaseError as error:
            self.close()
            raise SettingsInvalid(f"{path} cannot be used as the shuffler's store: {error}") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let another shuffler use the file."""
        self._connection.close()
        self._lock.close()

    def pin_offer(self, task: str, offer: str) -> str:
        """What was first said of a task, which is this if nothing was."""
        with self._transaction() as run:
            run("INSERT OR IGNORE INTO tasks(task, offer) VALUES (?, ?)", (task, offer))
            return str(run("SELECT offer FROM tasks WHERE task = ?", (task,)).fetchone()[0])

    def begin(self, task: str, number: int, question: bytes) -> bytes:
        """Go on to a round, and forget the one before with all who answered it; gives the round's question.

        That is the one it was first seen with.
        """
        with self._transaction() as run:
            row = run("SELECT round, question FROM rounds WHERE task = ?", (task,)).fetchone()
            if row is not None and row[0] >= number:
                return bytes(row[1])
            run(
                "INSERT OR REPLACE INTO rounds(task, round, question) VALUES (?, ?, ?)",
                (task, number, question),
            )
            self._forget(task, number)
        self.cut_log()
        return question

    def end(self, task: str) -> None:
        """Forget a task that has ended: who answered, and what was not handed on."""
        with self._transaction() as run:
            run("DELETE FROM rounds WHERE task = ?", (task,))
            self._forget(task, 1 << 62)
        self.cut_log()

    def keep(self, reports: Iterable[Kept]) -> None:
        """Keep the first report of each device in its round; of rounds that are over, none. On disk when it returns."""
        with self._transaction():
            self._connection.executemany(
                "INSERT OR IGNORE INTO reports(task, round, device, sealed) SELECT ?1, ?2, ?3, ?4"
                " WHERE EXISTS (SELECT 1 FROM rounds WHERE task = ?1 AND round = ?2)",
                reports,
            )

    def waiting(self, task: str, number: int) -> int:
        """Reports of a round that wait to be mixed."""
        with self._turn:
            row = self._connection.execute(
                "SELECT count(sealed) FROM reports WHERE task = ? AND round = ?", (task, number)
            ).fetchone()
        return int(row[0])

    def mix(self, task: str, number: int, fewest: int) -> int:
        """Make one batch of all that waits, in random order and without pseudonyms; gives its size.

        Nothing happens below ``fewest``. What the batch holds is settled here, before any of it is sent: sent again
        after a crash, it is the same.
        """
        with self._transaction() as run:
            found = run(
                "SELECT sealed FROM reports WHERE task = ? AND round = ? AND sealed IS NOT NULL",
                (task, number),
            )
            sealed = [row[0] for row in found]
            if len(sealed) < fewest:
                return 0
            random.SystemRandom().shuffle(sealed)
            for start in range(0, len(sealed), MOST_SEALED):
                run(
                    "INSERT INTO pieces(task, round, reports) VALUES (?, ?, ?)",
                    (task, number, b"".join(sealed[start : start + MOST_SEALED])),
                )
            run("UPDATE reports SET sealed = NULL WHERE task = ? AND round = ?", (task, number))
        self.cut_log()
        return len(sealed)

    def next_piece(self, task: str) -> Piece | None:
        """What is to be handed on next."""
        with self._turn:
            row = self._connection.execute(
                "SELECT id, task, round, reports FROM pieces WHERE task = ? ORDER BY id LIMIT 1", (task,)
            ).fetchone()
        return None if row is None else Piece(*row)

    def delete_piece(self, piece: Piece) -> None:
        """Forget what was handed on."""
        with self._transaction() as run:
            run("DELETE FROM pieces WHERE id = ?", (piece.id,))
        self.cut_log()

    def cut_log(self) -> None:
        """Cut what was deleted off the write-ahead log; where somebody is reading the file, the next call does."""
        with self._turn:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _forget(self, task: str, before: int) -> None:
        for table in ("reports", "pieces"):
            self._connection.execute(f"DELETE FROM {table} WHERE task = ? AND round < ?", (task, before))

    @contextmanager
    def _transaction(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        with self._turn:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection.execute
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _prepare(self, path: Path) -> None:
        run = self._connection.execute
        empty = run("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        marks = (run("PRAGMA application_id").fetchone()[0], run("PRAGMA user_version").fetchone()[0])
        if not empty and marks != (APPLICATION, VERSION):
            raise SettingsInvalid(f"{path} is not a shuffler's store of this version; choose another file")
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"):
            run(f"PRAGMA {pragma}").fetchall()
        if empty:
            self._connection.executescript(
                f"BEGIN; {TABLES} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT;"
            )
