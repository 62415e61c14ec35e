"""Files that only their holder reads: mode 0600, folders 0700, whatever the umask.

Whatever is written for the holder of the ratings alone goes through `open_private`: copies of ratings, lists of
people, numbers without noise, stores, ledgers, checkpoints, keys. On Windows the rights of the folder hold.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["make_private", "open_private", "private_folder", "try_lock"]

_BESIDE = ("-wal", "-shm", "-journal")
# Windows locks ranges of bytes and keeps others from reading them: one far behind everything that is ever written.
_FAR = (1 << 31) - 2

if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def try_lock(descriptor: int) -> bool:
        """Take the lock of an open file if nobody has it; it ends when the file is closed, however the process ends."""
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def try_lock(descriptor: int) -> bool:
        """Take the lock of an open file if nobody has it; it ends when the file is closed, however the process ends."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def open_private(path: Path, how: int = os.O_RDWR | os.O_CREAT) -> int:
    """A descriptor of a file that its owner alone may read: made so, or narrowed to it.

    Parameters
    ----------
    how
        Flags of ``os.open``.
    """
    descriptor = os.open(path, how | getattr(os, "O_BINARY", 0), 0o600)
    try:
        if os.fstat(descriptor).st_mode & 0o077 and hasattr(os, "fchmod"):
            os.fchmod(descriptor, 0o600)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def make_private(path: Path) -> None:
    """Make the file, or narrow one that another program wrote or will write, with what SQLite keeps beside it.

    SQLite gives its log the mode of the store. Not for a store that this process has open: closing a descriptor
    would give its locks away.
    """
    os.close(open_private(path))
    for ending in _BESIDE:
        if (beside := path.with_name(path.name + ending)).exists():
            os.close(open_private(beside))


def private_folder(path: Path, *, fresh: bool = False) -> None:
    """Make a folder that its owner alone may open, and those above it that are missing; one that is there stays."""
    if not path.parent.exists():
        private_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=not fresh)
