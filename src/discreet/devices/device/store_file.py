"""The form of a device's file: its tables, and transactions."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

__all__ = ["APPLICATION", "Transaction", "prepare"]

APPLICATION = 0x64736364
_SCHEMA = f"""
CREATE TABLE catalogue(pinned INTEGER PRIMARY KEY CHECK (pinned = 1), digest TEXT NOT NULL);
CREATE TABLE ratings(item INTEGER PRIMARY KEY, rating REAL NOT NULL);
CREATE TABLE cap(one INTEGER PRIMARY KEY CHECK (one = 1), epsilon REAL NOT NULL);
CREATE TABLE tasks(
    task TEXT PRIMARY KEY,
    device BLOB NOT NULL,
    terms TEXT NOT NULL,
    left INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE rounds(
    task TEXT NOT NULL REFERENCES tasks(task),
    round INTEGER NOT NULL,
    question BLOB NOT NULL,
    epsilon REAL NOT NULL,
    bit INTEGER CHECK (bit IN (0, 1)),
    sent INTEGER NOT NULL DEFAULT 0,
    asked TEXT NOT NULL,
    PRIMARY KEY (task, round)
);
CREATE TABLE released(task TEXT PRIMARY KEY REFERENCES tasks(task), round INTEGER NOT NULL, body BLOB NOT NULL);
PRAGMA application_id = {APPLICATION}
"""


def prepare(connection: sqlite3.Connection) -> None:
    """Make the tables of a new file, or check that this is a device's file."""
    run = connection.execute
    run("PRAGMA synchronous = EXTRA")  # a commit, the journal's removal included, outlives a power cut
    run("PRAGMA foreign_keys = ON")
    with Transaction(connection):  # two programs may open a new file at once
        empty = run("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        if not empty and run("PRAGMA application_id").fetchone()[0] != APPLICATION:
            raise sqlite3.DatabaseError("it belongs to another program")
        for statement in _SCHEMA.split(";") if empty else ():
            run(statement)


class Transaction:
    """Everything or nothing; nobody else writes meanwhile."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> Callable[..., sqlite3.Cursor]:
        self._connection.execute("BEGIN IMMEDIATE")
        return self._connection.execute

    def __exit__(self, kind: object, *_: object) -> None:
        self._connection.execute("COMMIT" if kind is None else "ROLLBACK")
