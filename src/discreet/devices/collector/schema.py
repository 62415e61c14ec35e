"""The tables of a collector's store."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from discreet.errors import SettingsInvalid

__all__ = ["APPLICATION", "VERSION", "check_version", "prepare"]

APPLICATION = 0x64736331  # "dsc1", so that another program's file is not taken for ours
VERSION = 1

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


def check_version(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse a file that is neither new nor a store that this program can use."""
    if _is_empty(connection):
        return
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if mark != APPLICATION:
        raise SettingsInvalid(f"{path} is not a collector's store; choose another file")
    if version != VERSION:
        raise SettingsInvalid(
            f"{path} is a store of version {version}, and this program's is {VERSION}; use the program that made it"
        )


def prepare(connection: sqlite3.Connection) -> None:
    """Make the tables of a new store, all at once or not at all."""
    if _is_empty(connection):
        marks = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"
        connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} {marks} COMMIT;")


def _is_empty(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0)
