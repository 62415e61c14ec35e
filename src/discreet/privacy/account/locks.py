"""Exclusive and shared locks on files, which end with the process that holds them, however it ends."""

from __future__ import annotations

import sys
import time

__all__ = ["lock", "try_lock"]

# Windows locks ranges of bytes and keeps others from reading them: one far behind everything that is ever written, and
# not further than 32 bits go, which is all that its older libraries can lock.
_FAR = (1 << 31) - 2
_LOOK_SECONDS = 0.01

if sys.platform == "win32":  # pragma: no cover
    import msvcrt
    import os

    def try_lock(descriptor: int, *, shared: bool = False) -> bool:
        """Take the lock of an open file if nobody has it; it ends when the file is closed."""
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def lock(descriptor: int, *, shared: bool = False) -> None:
        """Wait for the lock of an open file. There is no shared one here: readers wait for each other."""
        while not try_lock(descriptor):
            time.sleep(_LOOK_SECONDS)

else:
    import fcntl

    def try_lock(descriptor: int, *, shared: bool = False) -> bool:
        """Take the lock of an open file if nobody stands against it; it ends when the file is closed."""
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def lock(descriptor: int, *, shared: bool = False) -> None:
        """Wait for the lock of an open file: a shared one to read, an exclusive one to write."""
        fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
