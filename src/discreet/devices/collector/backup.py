"""Copies of a collector's store: taken while it runs, and put back where there is none."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from discreet.devices.collector.schema import check_version
from discreet.devices.collector.store import Store
from discreet.devices.collector.task import read_tasks
from discreet.errors import SettingsInvalid
from discreet.private_files import open_private

__all__ = ["back_up", "restore"]


def back_up(store: Path, out: Path) -> None:
    """Copy a store, in use or not, as it is at one moment; for its owner alone to read."""
    if not store.is_file():
        raise SettingsInvalid(f"there is no store {store}")
    _copy(store, out, "backup")


def restore(backup: Path, store: Path) -> int:
    """Put a copy back as the store of a collector that is to be started; gives the number of its tasks.

    Reports accepted after the copy was taken are not in it, and devices do not send them again. A round that was
    released since is open again; devices that answered the next one refuse it if it now comes with another question.
    """
    if not backup.is_file():
        raise SettingsInvalid(f"there is no backup {backup}")
    _copy(backup, store, "store")
    try:
        with closing(Store(store)) as opened:
            return len(read_tasks(opened))
    except BaseException:
        for ending in ("", "-wal", "-shm", ".lock"):
            store.with_name(store.name + ending).unlink(missing_ok=True)
        raise


def _copy(source: Path, target: Path, what: str) -> None:
    """Copy by SQLite's own means, into a file that is there only once it is whole."""
    if target.exists():
        raise SettingsInvalid(f"{target} is there already; choose another file for the {what}")
    part = target.with_name(target.name + ".part")
    try:
        os.close(open_private(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC))
        with closing(sqlite3.connect(source, timeout=30.0)) as old, closing(sqlite3.connect(part)) as new:
            check_version(source, old)
            if old.execute("PRAGMA application_id").fetchone()[0] == 0:
                raise SettingsInvalid(f"{source} is not a collector's store; choose another file")
            old.backup(new)
            (found,) = new.execute("PRAGMA integrity_check").fetchone()
            if found != "ok":
                raise SettingsInvalid(f"{source} is damaged: {found}")
            new.execute("PRAGMA journal_mode = DELETE")
        handle = os.open(part, os.O_RDWR)  # Windows syncs nothing that is open for reading alone
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        os.link(part, target)  # fails where another file has come there meanwhile
    except sqlite3.DatabaseError as error:
        raise SettingsInvalid(f"{source} cannot be copied: {error}") from error
    except OSError as error:
        raise SettingsInvalid(f"{target} cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            part.unlink()
