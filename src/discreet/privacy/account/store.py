"""The file of a ledger: an SQLite database of records chained by hashes. Proof note: ``privacy/proofs/ledger.md``."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from discreet.errors import LedgerInvalid
from discreet.privacy.account.account import Begin, Record, read_record
from discreet.private_files import make_private

__all__ = ["APPLICATION", "Chain", "LedgerStore", "Locked", "link", "now"]

APPLICATION = 0x44_4C_45_44
"""Tells a ledger from the stores of silos and devices."""
_NOTHING = "0" * 64
# Far above any record, and than any run waits for another.
_LONGEST, _PATIENCE = 10_000, 600.0
# A damaged file may put anything into SQLite's own message.
_UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
# EXTRA: after a loss of power a record that was acknowledged is there.
_SETTINGS = ("synchronous=EXTRA", "fullfsync=ON", "trusted_schema=OFF", "cell_size_check=ON")


def now() -> str:
    """The time, to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def link(previous: str, content: bytes) -> str:
    """The hash of a record that follows on the one with the hash ``previous``."""
    return hashlib.sha256(previous.encode() + content).hexdigest()


@dataclass(frozen=True)
class Chain:
    """A ledger as it was read: every record, and the hash of each."""

    records: tuple[Record, ...] = ()
    hashes: tuple[str, ...] = ()

    @property
    def head(self) -> str:
        """Hash of the last record: kept elsewhere, it shows whether the file was set back."""
        return self.hashes[-1] if self.hashes else _NOTHING

    @property
    def begin(self) -> Begin:
        """The first record."""
        first = self.records[0]
        assert isinstance(first, Begin)
        return first


class Locked:
    """The file while nobody else can write it: what is appended is on the disk when the lock is given back."""

    def __init__(self, opened: sqlite3.Connection, chain: Chain, path: Path) -> None:
        self._opened, self.chain, self._path = opened, chain, path

    def append(self, records: Sequence[Record]) -> str:
        """Write records behind all others; gives the new head."""
        chain, hashes = self.chain, list(self.chain.hashes)
        with self._undone():
            for record in records:
                content = json.dumps(record.model_dump(mode="json"), separators=(",", ":"), allow_nan=False)
                hashes.append(link(hashes[-1] if hashes else _NOTHING, content.encode()))
                row = len(hashes), content, hashes[-1]
                self._opened.execute("INSERT INTO records VALUES (?, ?, ?)", row)
        self.chain = Chain((*chain.records, *records), tuple(hashes))
        return self.chain.head

    def commit(self) -> None:
        """Put what was appended onto the disk."""
        with self._undone():
            if self._opened.in_transaction:
                self._opened.execute("COMMIT")

    @contextmanager
    def _undone(self) -> Iterator[None]:
        """Take back all that was appended under this lock where it cannot be written."""
        try:
            yield
        except sqlite3.Error as error:
            if self._opened.in_transaction:
                self._opened.execute("ROLLBACK")
            raise LedgerInvalid(f"{self._path} cannot be written ({error}); nothing was charged") from None


class LedgerStore:
    """Where a ledger is.

    Parameters
    ----------
    path
        Of the file. Its owner alone can read it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def create(self) -> None:
        """Begin a ledger, named after the file, unless there is one. Whole or not at all."""
        if self.path.exists():
            return
        begin = Begin(ledger=secrets.token_hex(16), name=self.path.stem or "ratings", when=now())
        fresh = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        make_private(fresh)
        try:
            with closing(sqlite3.connect(fresh, isolation_level=None)) as opened:
                opened.execute(f"PRAGMA application_id={APPLICATION}")
                opened.execute("BEGIN")
                opened.execute(
                    "CREATE TABLE records (line INTEGER PRIMARY KEY, content TEXT NOT NULL, hash TEXT NOT NULL)"
                )
                locked = Locked(opened, Chain(), self.path)
                locked.append([begin])
                locked.commit()
            with suppress(FileExistsError):  # another process was first, and its file counts
                os.link(fresh, self.path)
        finally:
            fresh.unlink()
        _sync_folder(self.path.parent)

    def read(self) -> Chain:
        """All of it as it is now, checked."""
        with self.locked() as locked:
            return locked.chain

    @contextmanager
    def locked(self) -> Iterator[Locked]:
        """Alone with the file, checked, to read, decide and write.

        What was appended is kept whatever is raised after it: a refusal is in the ledger too.
        """
        self._check_file()
        writable = os.access(self.path, os.W_OK)
        where = f"{self.path.absolute().as_uri()}?mode={'rw' if writable else 'ro'}"
        try:
            opened = sqlite3.connect(
                where, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise LedgerInvalid(f"the ledger {self.path} cannot be opened: {error}") from None
        with closing(opened):
            self._begin(opened, writable=writable)
            locked = Locked(opened, _checked(opened, self.path), self.path)
            try:
                yield locked
            finally:
                locked.commit()

    def _begin(self, opened: sqlite3.Connection, *, writable: bool) -> None:
        opened.text_factory = bytes
        try:
            for setting in _SETTINGS:
                opened.execute(f"PRAGMA {setting}")
            opened.execute("BEGIN IMMEDIATE" if writable else "BEGIN")
            (kind,) = opened.execute("PRAGMA application_id").fetchone()
        except _UNREADABLE as error:
            code = getattr(error, "sqlite_errorcode", None)
            if code == sqlite3.SQLITE_BUSY:
                raise LedgerInvalid(f"another process does not give {self.path} back; try again") from None
            if code != sqlite3.SQLITE_NOTADB:
                raise LedgerInvalid(_damaged(self.path, str(error))) from None
            kind = None
        if kind != APPLICATION:
            raise LedgerInvalid(f"{self.path} is not a ledger; nothing was written to it")

    def _check_file(self) -> None:
        if not self.path.exists():
            raise LedgerInvalid(
                f"there is no ledger {self.path}; a run with --ledger, or 'discreet ledger cap', begins one"
            )
        if self.path.stat().st_size == 0:
            raise LedgerInvalid(
                f"{self.path} is empty, which a ledger never is: what was in it is lost. Restore it from a backup; if "
                "it never was one, remove it and a new ledger is begun"
            )


def _checked(opened: sqlite3.Connection, path: Path) -> Chain:
    """All records, if each follows on the one before it."""
    records: list[Record] = []
    hashes: list[str] = []
    try:
        for number, (line, content, known) in enumerate(
            opened.execute("SELECT line, content, hash FROM records ORDER BY line"), 1
        ):
            if line != number or not isinstance(content, bytes) or len(content) > _LONGEST:
                raise LedgerInvalid(_damaged(path, f"line {number}: it is not there"))
            hashes.append(link(hashes[-1] if hashes else _NOTHING, content))
            if known != hashes[-1].encode():
                raise LedgerInvalid(_damaged(path, f"line {number}: its hash does not fit"))
            records.append(_record(content, number, path))
    except _UNREADABLE as error:
        raise LedgerInvalid(_damaged(path, str(error))) from None
    if not records:
        raise LedgerInvalid(_damaged(path, "line 1: it is not there"))
    return Chain(tuple(records), tuple(hashes))


def _record(content: bytes, number: int, path: Path) -> Record:
    where = f"{path}, line {number},"
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise LedgerInvalid(f"{where} is no record of a ledger (not JSON)") from None
    record = read_record(found, where)
    if isinstance(record, Begin) != (number == 1):
        raise LedgerInvalid(_damaged(path, f"line {number}: a ledger begins once"))
    return record


def _damaged(path: Path, how: str) -> str:
    return (
        f"{path} was damaged or edited: {how}. Nothing is charged to it any more. Restore it from a backup that passes "
        "'discreet ledger verify' with the last head you kept"
    )


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":  # pragma: no cover
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
