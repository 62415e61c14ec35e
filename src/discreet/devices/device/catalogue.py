"""The public item list as a device may have it in a file: the ids in order, and the digest everybody compares.

The rules are those of ``discreet.Catalogue``. In CSV, ids are whole numbers if every one is written as a plain 64-bit
integer, else text; in JSON they are what they are.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

__all__ = ["CatalogueInvalid", "Id", "digest", "read_ids"]

Id = int | str
_COLUMNS = ("item", "item_id", "id")


class CatalogueInvalid(ValueError):
    """The item list cannot be used."""


def digest(ids: list[Id]) -> str:
    """SHA-256 of the ids in their order, as JSON."""
    return hashlib.sha256(json.dumps(ids).encode()).hexdigest()


def read_ids(path: str | os.PathLike[str]) -> list[Id]:
    """Ids from JSON (a list, or the ``catalogue.json`` of a model), or from a CSV file with a column of them."""
    file = Path(path)
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            ids = _from_json(text.read()) if file.suffix.lower() == ".json" else _from_csv(csv.reader(text))
        if not ids:
            raise ValueError("it is empty")
        if "" in ids or len(set(ids)) < len(ids):
            raise ValueError("a row has no id, or one that was there before")
    except (OSError, ValueError, csv.Error, RecursionError) as error:
        raise CatalogueInvalid(f"the item list {file} cannot be used: {error}") from error
    return ids


def _from_json(text: str) -> list[Id]:
    found = json.loads(text)
    ids = found.get("ids") if isinstance(found, dict) else found
    if not isinstance(ids, list) or {type(one) for one in ids} not in ({int}, {str}):
        raise ValueError("it holds no list of ids that are all whole numbers or all text")
    return ids


def _from_csv(rows: Iterable[list[str]]) -> list[Id]:
    names, *found = [row for row in rows if row] or [[]]
    column = 0 if len(names) == 1 else next((names.index(name) for name in _COLUMNS if name in names), None)
    if column is None:
        raise ValueError(f"none of its columns is called {', '.join(_COLUMNS)}")
    texts = [row[column] if column < len(row) else "" for row in found]
    if all(_is_plain(text) for text in texts):
        return [int(text) for text in texts]
    return list(texts)


def _is_plain(text: str) -> bool:
    """Whether this is a 64-bit integer as it is usually written: no zeros before it, no sign but minus."""
    digits = len(text) <= 20 and text.isascii() and text.removeprefix("-").isdigit()
    return digits and str(int(text)) == text and -(1 << 63) <= int(text) < 1 << 63
