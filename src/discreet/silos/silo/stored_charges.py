"""What a silo's store says was charged, read without its agreement: the store as a ledger of one run."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import SettingsInvalid
from discreet.privacy.statement import Statement
from discreet.silos.silo import prototype_silo, silo_store

__all__ = ["StoredCharges", "application_of", "stored_charges"]


@dataclass(frozen=True)
class StoredCharges:
    """Charges of a silo's store: Gaussian ones by name and mu, or the statement of a message of prototypes."""

    gaussian: tuple[tuple[str, float], ...] = ()
    statement: Statement | None = None


def application_of(path: Path) -> int | None:
    """Number that tells one kind of SQLite store from another; ``None`` for any other file."""
    with path.open("rb") as file:
        header = file.read(100)
    if len(header) < 100 or not header.startswith(b"SQLite format 3\0"):
        return None
    return int.from_bytes(header[68:72])


def stored_charges(path: Path) -> StoredCharges | None:
    """All charges of a silo's store; ``None`` where it is none."""
    kind = application_of(path)
    if kind == silo_store.APPLICATION:
        charges = _rows(path, "SELECT charge, mu FROM answers ORDER BY round, attempt")
        return StoredCharges(tuple(charges))
    if kind == prototype_silo.APPLICATION:
        found = _rows(path, "SELECT statement, 0.0 FROM outcome")
        return StoredCharges(statement=Statement.from_json(found[0][0]) if found else None)
    return None


def _rows(path: Path, query: str) -> list[tuple[str, float]]:
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=1.0)) as opened:
            return [(str(name), float(mu)) for name, mu in opened.execute(query)]
    except sqlite3.Error as error:
        raise SettingsInvalid(f"{path} cannot be read: {error}; is a silo using it?") from None
