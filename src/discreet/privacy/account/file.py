"""The file of a ledger: read and written under its lock, and synced before anybody relies on it."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from discreet.errors import LedgerInvalid
from discreet.privacy.account.chain import Chain, encode, read_chain
from discreet.privacy.account.locks import lock
from discreet.privacy.account.records import Begin, Record, Torn
from discreet.private_files import open_private

__all__ = ["ChainFile", "Locked", "now"]

_BINARY = getattr(os, "O_BINARY", 0)


def now() -> str:
    """The time, to the second, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Locked:
    """The file while nobody else can write it.

    Parameters
    ----------
    descriptor, chain
        The open file, and what is in it.
    """

    def __init__(self, descriptor: int, chain: Chain) -> None:
        self._descriptor, self.chain = descriptor, chain

    def append(self, records: Sequence[Record]) -> str:
        """Write records behind all others, on the disk when this returns; gives the new head."""
        chain = self.chain
        added = [Torn(bytes=chain.torn), *records] if chain.torn else list(records)
        lines = encode(added, chain.head)
        if chain.unended:
            lines = b"\n" + lines
        if chain.torn:
            os.ftruncate(self._descriptor, chain.size)
        try:
            os.lseek(self._descriptor, chain.size, os.SEEK_SET)
            if os.write(self._descriptor, lines) != len(lines):
                raise OSError(28, "No space left to write the ledger")
        except OSError:
            # Half a record must not stay; where even this fails, the next one to write takes it for torn.
            with suppress(OSError):
                os.ftruncate(self._descriptor, chain.size)
            raise
        _sync(self._descriptor)
        self.chain = read_chain(_content(self._descriptor), "the ledger")
        return self.chain.head


class ChainFile:
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
        descriptor = open_private(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            os.write(descriptor, encode([begin]))
            _sync(descriptor)
            os.close(descriptor)
            with suppress(FileExistsError):  # another process was first, and its file counts
                os.link(fresh, self.path)
        finally:
            fresh.unlink()
        _sync_folder(self.path.parent)

    @contextmanager
    def reading(self) -> Iterator[Chain]:
        """All of it as it is now, checked; nobody writes meanwhile."""
        with self._opened(os.O_RDONLY, shared=True) as descriptor:
            yield read_chain(_content(descriptor), self.path)

    @contextmanager
    def locked(self) -> Iterator[Locked]:
        """Alone with the file, checked, to read, decide and write."""
        with self._opened(os.O_RDWR) as descriptor:
            yield Locked(descriptor, read_chain(_content(descriptor), self.path))

    @contextmanager
    def _opened(self, how: int, *, shared: bool = False) -> Iterator[int]:
        while True:
            try:
                descriptor = os.open(self.path, how | _BINARY)
            except FileNotFoundError:
                raise LedgerInvalid(
                    f"there is no ledger {self.path}; a run with --ledger, or 'discreet ledger cap', begins one"
                ) from None
            except OSError as error:
                raise LedgerInvalid(f"the ledger {self.path} cannot be opened: {error.strerror}") from None
            try:
                lock(descriptor, shared=shared)
                if self._is_still(descriptor):
                    yield descriptor
                    return
            finally:
                os.close(descriptor)

    def _is_still(self, descriptor: int) -> bool:
        """Whether the path still leads to this file: another may have been put in its place while we waited."""
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False


def _content(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    parts = []
    while part := os.read(descriptor, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _sync(descriptor: int) -> None:
    if sys.platform == "darwin":  # pragma: no cover
        import fcntl

        # There fsync leaves data in the disk's own cache; some file systems know no more than that.
        with suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":  # pragma: no cover
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
