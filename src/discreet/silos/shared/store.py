"""One SQLite file for each party: what is committed there survives any crash, and one process at a time uses it."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from discreet.errors import Refused, SettingsInvalid
from discreet.private_files import make_private, private_folder
from discreet.silos.shared.encoding import Header, decode, encode, shapes

__all__ = ["Store", "StoreInUse", "StoreOwner", "pack", "unpack"]

_MARK = b"dsR1"
_IDENTITY = """CREATE TABLE identity(
    one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, agreement TEXT NOT NULL
) STRICT"""


class _Closes(Protocol):
    def close(self) -> None: ...


Kept = TypeVar("Kept", bound=_Closes)


class StoreInUse(SettingsInvalid):
    """Another process works on the store."""


class StoreOwner(Generic[Kept]):
    """Whoever works on a store of its own; ``with`` or :meth:`close` gives it back."""

    _store: Kept

    def close(self) -> None:
        """Give the store back."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Store:
    """A durable store, bound to one agreement and one owner for good.

    Parameters
    ----------
    path
        Made if it is not there, for its owner's eyes alone.
    application
        Number that tells this kind of store from other SQLite files.
    schema
        Statements that make its tables.
    owner
        Agreement and name that the file belongs to.
    agreement
        Its text, kept so that the store can be read without the file.

    Attributes
    ----------
    id
        Random and made with the store: two stores of one silo are told apart by it, and a copy of one is not.
    """

    def __init__(self, path: Path, application: int, schema: str, owner: str, agreement: str = "") -> None:
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
            self._open(application, schema, owner, agreement)
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

    def write(self, statement: str, *values: Any) -> int:
        """One statement; how many rows it changed."""
        with self.lock:
            return self._connection.execute(statement, values).rowcount

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows that a query finds."""
        with self.lock:
            return self._connection.execute(statement, values).fetchall()

    def forget_deleted(self) -> None:
        """Empty the log beside the file; in the file itself, what is deleted is overwritten."""
        # What was committed stays so if this fails, and the next time makes it good.
        with self.lock, suppress(sqlite3.OperationalError):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _open(self, application: int, schema: str, owner: str, agreement: str) -> None:
        self.write("PRAGMA locking_mode = EXCLUSIVE")
        self.write("PRAGMA journal_mode = WAL")
        self.write("PRAGMA synchronous = FULL")
        self.write("PRAGMA secure_delete = ON")
        with self.transaction():
            if self.rows("PRAGMA application_id") == [(0,)] and not self.rows("SELECT 1 FROM sqlite_master"):
                for statement in f"CREATE TABLE owner(owner TEXT NOT NULL) STRICT;{schema};{_IDENTITY}".split(
                    ";"
                ):
                    self.write(statement)
                self.write(f"PRAGMA application_id = {application}")
                self.write("INSERT INTO owner VALUES (?)", owner)
                self.write("INSERT INTO identity VALUES (1, ?, ?)", secrets.token_hex(16), agreement)
            if self.rows("PRAGMA application_id") != [(application,)]:
                raise SettingsInvalid(f"{self._path} is another program's file, or another kind of store")
            if self.rows("SELECT owner FROM owner") != [(owner,)]:
                raise SettingsInvalid(
                    f"{self._path} belongs to another run or another silo; every run needs a store of its own"
                )
            self.id = str(self.rows("SELECT id FROM identity")[0][0])
        self.forget_deleted()  # what kind of store it is stands in the file, for who cannot open it now


def pack(arrays: dict[str, npt.NDArray[np.float64]]) -> bytes:
    """A release as bytes."""
    return encode(_MARK, Header(arrays=shapes(arrays)), arrays, "<f8")


def unpack(body: bytes) -> dict[str, npt.NDArray[np.float64]]:
    """A release back from :func:`pack`."""
    try:
        return decode(body, _MARK, Header, "<f8", len(body))[1]
    except Refused as error:
        raise SettingsInvalid(f"the store is damaged: {error}") from None
