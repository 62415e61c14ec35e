"""The collector's one file: tasks, rounds with what was released, and reports; and the one thread that writes it.

A report is a task, a round, a pseudonym and a bit. There is no time, no address and no order of arrival: rows
lie sorted by pseudonym, which is random. Rounds carry the hour in which they were opened and released.

Many reports share one commit, and each is answered after it. While a commit waits for the disk, further reports gather
for the next one, so a busy collector pays one flush for hundreds of reports and an idle one answers at once. A batch is
written by two statements, whatever its size: a statement a report would hand the interpreter to the event loop and back
each time.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from discreet.errors import SettingsInvalid
from discreet.private_files import make_private, open_private, try_lock

__all__ = [
    "EARLY",
    "RECORD",
    "Refused",
    "Store",
    "Writer",
    "back_up",
    "delete_reports",
    "delete_task",
    "restore",
]

APPLICATION = 0x64736331  # "dsc1", so that another program's file is not taken for ours
RECORD = 17  # bytes of a pseudonym and a bit
CHUNK = 8192  # reports read at a time when a round is counted
_ENDINGS = ("", "-wal", "-shm", ".lock")
_TABLES = """
CREATE TABLE tasks(
    id INTEGER PRIMARY KEY,
    task TEXT NOT NULL UNIQUE,
    config TEXT NOT NULL
) STRICT;
CREATE TABLE rounds(
    task INTEGER NOT NULL REFERENCES tasks(id),
    round INTEGER NOT NULL,
    question BLOB NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'counting', 'released')),
    opened_hour INTEGER NOT NULL,
    released_hour INTEGER,
    reports INTEGER,
    estimate BLOB,
    released BLOB,
    PRIMARY KEY (task, round)
) STRICT;
CREATE UNIQUE INDEX one_round_at_a_time ON rounds(task) WHERE state <> 'released';
CREATE TABLE reports(
    task INTEGER NOT NULL,
    round INTEGER NOT NULL,
    device BLOB NOT NULL CHECK (length(device) = 16),
    bit INTEGER NOT NULL CHECK (bit IN (0, 1)),
    PRIMARY KEY (task, round, device)
) STRICT, WITHOUT ROWID;
"""


class Store:
    """Opens the file, and keeps a second collector from using it at the same time."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        _check_file(self.path)  # before anything is written: settings, or the lock's file
        try:
            self._lock = os.fdopen(open_private(self.path.with_name(self.path.name + ".lock")), "ab")
        except OSError as error:
            raise SettingsInvalid(
                f"the collector's store cannot be made at {path}: {error.strerror}"
            ) from error
        try:
            if not try_lock(self._lock.fileno()):
                raise SettingsInvalid(
                    f"{path} is in use by another collector; stop it or choose another file"
                )
            make_private(self.path)
            with closing(self.connect()) as connection:
                if _is_empty(connection):  # all tables or none
                    mark = f"PRAGMA application_id = {APPLICATION};"
                    connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} {mark} COMMIT;")
        except sqlite3.DatabaseError as error:
            self.close()
            raise _unusable(self.path, error) from error
        except BaseException:
            self.close()
            raise

    def connect(self) -> sqlite3.Connection:
        """A connection whose commits are on disk when they return."""
        connection = _open(self.path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA wal_autocheckpoint = 4000")
        return connection

    def close(self) -> None:
        """Let another collector use the file."""
        self._lock.close()

    def read(self, words: str, *values: object) -> list[Any]:
        """The rows of one query."""
        with closing(self.connect()) as reader:
            return reader.execute(words, values).fetchall()

    def reports(self, task: int, number: int) -> Iterator[tuple[list[bytes], list[int]]]:
        """Yield pseudonyms and bits of a sealed round, some thousands at a time.

        Each chunk is one row of one query: stepping through rows one by one would take turns with the event loop
        for the interpreter at every row.
        """
        after, width = b"", 2 * 16 + 1
        with closing(self.connect()) as reader:
            while True:
                last, text = reader.execute(
                    "SELECT max(device), group_concat(hex(device) || bit, '') FROM (SELECT device, bit FROM reports"
                    " WHERE task = ? AND round = ? AND device > ? ORDER BY device LIMIT ?)",
                    (task, number, after, CHUNK),
                ).fetchone()
                if last is None:
                    return
                rows = [text[start : start + width] for start in range(0, len(text), width)]
                yield [bytes.fromhex(row[:-1]) for row in rows], [int(row[-1]) for row in rows]
                after = last


def delete_reports(connection: sqlite3.Connection, task: int) -> int:
    """Delete reports of rounds that are released, and overwrite them; what was released stays. Gives how many."""
    return _erase(
        connection,
        "DELETE FROM reports WHERE task = :task AND round IN"
        " (SELECT round FROM rounds WHERE task = :task AND state = 'released')",
        task,
    )


def delete_task(connection: sqlite3.Connection, task: int) -> None:
    """Delete a task, its rounds and their reports, and overwrite them."""
    for table, key in (("reports", "task"), ("rounds", "task"), ("tasks", "id")):
        _erase(connection, f"DELETE FROM {table} WHERE {key} = :task", task)


def back_up(store: Path, out: Path) -> None:
    """Copy a store, in use or not, as it is at one moment; for its owner alone to read."""
    if not store.is_file():
        raise SettingsInvalid(f"there is no store {store}")
    _copy(store, out)


def restore(backup: Path, store: Path, check: Callable[[Store], int]) -> int:
    """Put a copy back as the store of a collector that is to be started; gives what ``check`` says of it.

    Reports accepted after the copy was taken are not in it, and devices do not send them again. A round that was
    released since is open again; devices that answered the next one refuse it if it now comes with another question.
    """
    if not backup.is_file():
        raise SettingsInvalid(f"there is no backup {backup}")
    _copy(backup, store)
    try:
        with closing(Store(store)) as opened:
            return check(opened)
    except BaseException:
        for ending in _ENDINGS:
            store.with_name(store.name + ending).unlink(missing_ok=True)
        raise


def _copy(source: Path, target: Path) -> None:
    """Copy by SQLite's own means, into a file that is there only once it is whole."""
    if target.exists():
        raise SettingsInvalid(f"{target} is there already; choose another file")
    part = target.with_name(target.name + ".part")
    try:
        os.close(open_private(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC))
        with closing(sqlite3.connect(source, timeout=30.0)) as old, closing(sqlite3.connect(part)) as new:
            _check_mark(source, old)
            old.backup(new)
            (found,) = new.execute("PRAGMA integrity_check").fetchone()
            if found != "ok":
                raise SettingsInvalid(f"{source} is damaged: {found}")
            new.execute("PRAGMA journal_mode = DELETE")
        with part.open("rb+") as copy:  # Windows syncs nothing that is open for reading alone
            os.fsync(copy.fileno())
        os.link(part, target)  # fails where another file has come there meanwhile
    except sqlite3.DatabaseError as error:
        raise SettingsInvalid(f"{source} cannot be copied: {error}") from error
    except OSError as error:
        raise SettingsInvalid(f"{target} cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            part.unlink()


def _erase(connection: sqlite3.Connection, words: str, task: int) -> int:
    connection.execute("PRAGMA secure_delete = ON")
    try:
        return connection.execute(words, {"task": task}).rowcount
    finally:
        connection.execute("PRAGMA secure_delete = OFF")


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30.0)


def _check_file(path: Path) -> None:
    """Refuse what is there and is not a collector's."""
    if not os.path.exists(path):
        return
    if not os.path.isfile(path):
        raise SettingsInvalid(f"{path} is not a file; the collector's store is one file")
    try:
        with closing(_open(path)) as connection:
            if not _is_empty(connection):
                _check_mark(path, connection)
    except sqlite3.DatabaseError as error:
        raise _unusable(path, error) from error


def _check_mark(path: Path, connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
        raise SettingsInvalid(f"{path} is not a collector's store; choose another file")


def _is_empty(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0)


def _unusable(path: Path, error: sqlite3.Error) -> SettingsInvalid:
    return SettingsInvalid(f"{path} cannot be used as the collector's store: {error}")


T = TypeVar("T")
LARGEST_BATCH = 2000

_RECORDS = f"""
    WITH RECURSIVE place(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM place WHERE i + 1 < :count),
    sent(i, device, bit) AS (
        SELECT i, substr(:records, i * {RECORD} + 1, {RECORD - 1}), substr(:records, (i + 1) * {RECORD}, 1) = x'01'
        FROM place
    )
"""
_INSERT = (
    _RECORDS
    + "INSERT INTO reports(task, round, device, bit) SELECT :task, :round, device, bit FROM sent WHERE true"
    " ON CONFLICT DO NOTHING"
)
_KNOWN = (
    _RECORDS + "SELECT i, kept.bit = sent.bit FROM sent CROSS JOIN reports AS kept"
    " ON kept.task = :task AND kept.round = :round AND kept.device = sent.device"
    " WHERE :late OR kept.bit <> sent.bit"  # of an open round as good as none: rows are slow here
)


CHANGED = (409, "this device has already answered this round otherwise")
LATE = (410, "this round takes no more reports")
EARLY = (409, "this round is not open yet")
Refused: TypeAlias = tuple[int, str]
"""How a report is refused, and in which words; none for one that is kept, now or by an earlier request."""


class _Report(NamedTuple):
    task: int
    round: int
    record: bytes
    answer: asyncio.Future[Refused | None]


class Writer:
    """The only connection that writes, and its thread."""

    def __init__(self, store: Store) -> None:
        self._connection = store.connect()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="collector-writer")
        self._reports: deque[_Report] = deque()
        self._working: asyncio.Task[None] | None = None
        self.failed = False

    def keep(self, task: int, number: int, record: bytes) -> asyncio.Future[Refused | None]:
        """Write one report; the future is done after its commit."""
        answer: asyncio.Future[Refused | None] = asyncio.get_running_loop().create_future()
        self._reports.append(_Report(task, number, record, answer))
        if self._working is None:
            self._working = asyncio.ensure_future(self._work())
        return answer

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` in a transaction of its own between two batches."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._commit, work)

    @property
    def waiting(self) -> int:
        """Reports that wait for the disk."""
        return len(self._reports)

    async def stop(self) -> None:
        """Write what is waiting and end the thread."""
        if self._working is not None:
            await self._working
        self._thread.shutdown()
        self._connection.close()

    async def _work(self) -> None:
        """Write batch after batch; whoever waits is told after the commit, and of a full disk nothing else."""
        while self._reports:
            loop = asyncio.get_running_loop()
            for report, result in await loop.run_in_executor(self._thread, self._write_batch):
                if report.answer.cancelled():
                    continue
                if isinstance(result, Exception):
                    report.answer.set_exception(result)
                else:
                    report.answer.set_result(result)
        self._working = None

    def _write_batch(self) -> list[tuple[_Report, Refused | Exception | None]]:
        batch = [self._reports.popleft() for _ in range(min(len(self._reports), LARGEST_BATCH))]
        results: Sequence[Refused | Exception | None]
        try:
            results = self._commit(lambda _: self._write(batch))
        except Exception as error:  # whatever it is belongs to the requests that asked
            results = [error] * len(batch)
        return list(zip(batch, results, strict=True))

    def _commit(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do the work in one transaction, on the writer's thread."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            result = work(self._connection)
            self._connection.execute("COMMIT")
        except Exception as error:
            self.failed = isinstance(error, sqlite3.Error)
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self.failed = False
        return result

    def _write(self, batch: list[_Report]) -> list[Refused | None]:
        rounds: dict[tuple[int, int], list[int]] = {}
        for place, report in enumerate(batch):
            rounds.setdefault((report.task, report.round), []).append(place)
        verdicts: list[Refused | None] = [EARLY] * len(batch)
        run = self._connection.execute
        for (task, number), places in rounds.items():
            records = b"".join(batch[place].record for place in places)
            values: dict[str, Any] = {"task": task, "round": number, "count": len(places), "records": records}
            row = run("SELECT state FROM rounds WHERE task = ? AND round = ?", (task, number)).fetchone()
            if row is None:
                continue
            late = row[0] != "open"
            if not late:
                run(_INSERT, values)
            for place in places:
                verdicts[place] = LATE if late else None
            for at, same in run(_KNOWN, {**values, "late": late}):
                verdicts[places[at]] = None if same else CHANGED
        return verdicts
