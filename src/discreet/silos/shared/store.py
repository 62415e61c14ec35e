"""One SQLite file for each party: what is committed there survives any crash, and one process at a time uses it.

All that a party must never forget are entries: what was called, asked, answered, charged, released or refused. An
entry says where it belongs in the run, has facts, and may have bytes, which are overwritten once they are of no use.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from discreet.errors import Refused, SettingsInvalid
from discreet.private_files import make_private, private_folder
from discreet.silos.shared.messages import Header, decode, encode

__all__ = [
    "COORDINATOR",
    "Entry",
    "Store",
    "StoreInUse",
    "StoreOwner",
    "is_store",
    "pack",
    "read_rows",
    "unpack",
]

COORDINATOR = "coordinator"
"""The coordinator's name as the owner of a store; no silo has it, as theirs follow the word silo."""
_APPLICATION = 0x64737332
_MARK = b"dsR1"
_SCHEMA = (
    "CREATE TABLE owner(agreement TEXT NOT NULL, owner TEXT NOT NULL) STRICT",
    "CREATE TABLE entries(number INTEGER PRIMARY KEY, kind TEXT NOT NULL, round INTEGER NOT NULL, "
    "attempt INTEGER NOT NULL, silo TEXT NOT NULL, facts TEXT NOT NULL, size INTEGER NOT NULL, body BLOB) STRICT",
    "CREATE INDEX place ON entries(kind, round, attempt, silo)",
    f"PRAGMA application_id = {_APPLICATION}",
)


class StoreInUse(SettingsInvalid):
    """Another process works on the store."""


class Entry(NamedTuple):
    """What was kept, without its bytes; ``size`` says how many there were."""

    kind: str
    round: int
    attempt: int
    silo: str
    facts: dict[str, Any]
    size: int


class Store:
    """A durable store, bound to one agreement and one owner for good."""

    def __init__(self, path: Path, agreement: str, owner: str) -> None:
        self.lock = RLock()
        self._path = path
        try:
            private_folder(path.parent)
            make_private(path)
            self._connection = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, timeout=1.0
            )
        except (OSError, sqlite3.Error) as error:
            raise SettingsInvalid(f"{path} cannot be opened: {error}") from None
        try:
            self._open(agreement, owner)
        except (sqlite3.DatabaseError, SettingsInvalid) as error:
            self._connection.close()
            if "locked" in str(error):
                raise StoreInUse(f"{path} is in use by another process; end that one first") from None
            if isinstance(error, SettingsInvalid):
                raise
            raise SettingsInvalid(f"{path} is not a store of this program: {error}") from None

    def close(self) -> None:
        """Give the file back."""
        with self.lock:
            self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it or nothing, on the disk when it ends."""
        with self.lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
                self._connection.execute("COMMIT")
            except BaseException as error:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.OperationalError):
                    raise SettingsInvalid(f"{self._path} cannot be written: {error}") from None
                raise

    def add(
        self,
        kind: str,
        round_: int = 0,
        attempt: int = 0,
        silo: str = "",
        body: bytes = b"",
        size: int | None = None,
        **facts: Any,
    ) -> None:
        """Keep something, within a transaction."""
        self.write(
            "INSERT INTO entries(kind, round, attempt, silo, facts, size, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
            *(kind, round_, attempt, silo, json.dumps(facts), len(body) if size is None else size, body),
        )

    def entries(self, *kinds: str, at: tuple[int, int] | None = None) -> list[Entry]:
        """All that was kept of these kinds, in order; of one round and attempt only, if so asked."""
        where = f"kind IN ({', '.join('?' * len(kinds))})" + (
            "" if at is None else " AND round = ? AND attempt = ?"
        )
        rows = self.rows(
            f"SELECT kind, round, attempt, silo, facts, size FROM entries WHERE {where} ORDER BY number",
            *(*kinds, *(at or ())),
        )
        return [
            Entry(kind, round_, attempt, silo, json.loads(facts), size)
            for kind, round_, attempt, silo, facts, size in rows
        ]

    def body(self, kind: str, round_: int = 0, attempt: int = 0, silo: str = "") -> bytes | None:
        """The bytes of an entry; ``None`` where there is none, or they were forgotten."""
        rows = self.rows(
            "SELECT body FROM entries WHERE kind = ? AND round = ? AND attempt = ? AND silo = ?",
            *(kind, round_, attempt, silo),
        )
        return None if not rows or rows[0][0] is None else bytes(rows[0][0])

    def forget_bodies(self, kind: str) -> None:
        """Overwrite the bytes of all entries of a kind, within a transaction; what they were about stays."""
        self.write("UPDATE entries SET body = NULL WHERE kind = ? AND body IS NOT NULL", kind)

    def write(self, statement: str, *values: Any) -> None:
        """One statement."""
        with self.lock:
            self._connection.execute(statement, values)

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows that a query finds."""
        with self.lock:
            return self._connection.execute(statement, values).fetchall()

    def forget_deleted(self) -> None:
        """Empty the log beside the file; in the file itself, what is deleted is overwritten."""
        # What was committed stays so if this fails, and the next time makes it good.
        with self.lock, suppress(sqlite3.OperationalError):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _open(self, agreement: str, owner: str) -> None:
        self.write("PRAGMA locking_mode = EXCLUSIVE")
        self.write("PRAGMA journal_mode = WAL")
        self.write("PRAGMA synchronous = FULL")
        self.write("PRAGMA secure_delete = ON")
        with self.transaction():
            if self.rows("PRAGMA application_id") == [(0,)] and not self.rows("SELECT 1 FROM sqlite_master"):
                for statement in _SCHEMA:
                    self.write(statement)
                self.write("INSERT INTO owner VALUES (?, ?)", agreement, owner)
            if self.rows("PRAGMA application_id") != [(_APPLICATION,)]:
                raise SettingsInvalid(f"{self._path} is another program's file")
            if self.rows("SELECT agreement, owner FROM owner") != [(agreement, owner)]:
                raise SettingsInvalid(
                    f"{self._path} belongs to another run or another silo; every run needs a store of its own"
                )
        self.forget_deleted()  # that it is a store stands in the file, for who cannot open it now


class StoreOwner:
    """Whoever works on a store of its own; ``with`` or :meth:`close` gives it back."""

    _store: Store

    def close(self) -> None:
        """Give the store back."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def is_store(path: Path) -> bool:
    """Whether a file is the store of a party, told without opening it for work."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        header = file.read(100)
    return header.startswith(b"SQLite format 3\0") and int.from_bytes(header[68:72]) == _APPLICATION


def read_rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    """Rows of a store that nobody is using; nothing is changed."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=1.0)) as opened:
            return opened.execute(query).fetchall()
    except sqlite3.Error as error:
        if "locked" in str(error):
            raise StoreInUse(f"{path} is in use by another process") from None
        raise SettingsInvalid(f"{path} cannot be read: {error}") from None


def pack(arrays: dict[str, npt.NDArray[np.float64]]) -> bytes:
    """A release as bytes."""
    return encode(_MARK, Header, {}, arrays)


def unpack(body: bytes | None) -> dict[str, npt.NDArray[np.float64]]:
    """A release back from :func:`pack`."""
    try:
        return decode(body or b"", _MARK, Header, len(body or b""))[1]
    except Refused as error:
        raise SettingsInvalid(f"the store is damaged: {error}") from None
