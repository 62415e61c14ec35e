"""Keys and secret of tasks whose answers go through a shuffler, in the device's own file."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable

from .hpke import KEY_BYTES
from .shuffled import Shuffled
from .terms import TermsInvalid

__all__ = ["pin_keys", "read_keys"]

Run = Callable[..., sqlite3.Cursor]

# Made when first needed, so that files from before there were shufflers stay what they are.
_TABLE = (
    "CREATE TABLE IF NOT EXISTS shuffled(task TEXT PRIMARY KEY REFERENCES tasks(task), collector BLOB NOT NULL,"
    " shuffler BLOB NOT NULL, secret BLOB NOT NULL)"
)


def pin_keys(run: Run, task: str, through: tuple[bytes, bytes] | None, *, is_new: bool) -> None:
    """Keep the keys of collector and shuffler of a task that is joined now; of one joined before, refuse any others."""
    if is_new and through is not None:
        kept = Shuffled(*through, secret=secrets.token_bytes(KEY_BYTES))
        run(_TABLE)
        run(
            "INSERT INTO shuffled(task, collector, shuffler, secret) VALUES (?, ?, ?, ?)",
            (task, kept.collector, kept.shuffler, kept.secret),
        )
    known = read_keys(run, task)
    if (None if known is None else (known.collector, known.shuffler)) != through:
        raise TermsInvalid(
            f"this device joined task {task} with other keys, or with and without a shuffler: answers already given"
            " could be linked. Join another task instead"
        )


def read_keys(run: Run, task: str) -> Shuffled | None:
    """Keys and secret of a task; none for one whose answers do not go through a shuffler."""
    if run("SELECT count(*) FROM sqlite_master WHERE name = 'shuffled'").fetchone()[0] == 0:
        return None
    row = run("SELECT collector, shuffler, secret FROM shuffled WHERE task = ?", (task,)).fetchone()
    return None if row is None else Shuffled(*map(bytes, row))
