"""The public item list as a device may have it in a file: the ids in order, and the digest everybody compares.

The rules are those of ``discreet.Catalogue``. In files without types (CSV, TSV, text) ids are whole numbers if every
one is written as a plain 64-bit integer, else text; in JSON they are what they are.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
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
    """Ids from JSON (a list, or the ``catalogue.json`` of a model), CSV, TSV, or text with one id a line."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
        kind = file.suffix.lower()
        if kind == ".json":
            ids = _from_json(text)
        elif kind in (".csv", ".tsv"):
            ids = _typed(_column(text, "\t" if kind == ".tsv" else ","))
        elif kind == ".txt":
            ids = _typed([line.strip() for line in text.split("\n")])
        else:
            raise ValueError("its extension is unknown; use .json, .csv, .tsv or .txt")
        _check(ids)
    except (OSError, ValueError, csv.Error, RecursionError) as error:
        raise CatalogueInvalid(f"the item list {file} cannot be used: {error}") from error
    return ids


def _from_json(text: str) -> list[Id]:
    found = json.loads(text)
    ids = found.get("ids") if isinstance(found, dict) else found
    if not isinstance(ids, list):
        raise ValueError("it holds no list of ids")
    if not (all(type(one) is int for one in ids) or all(type(one) is str for one in ids)):
        raise ValueError("its ids must all be whole numbers or all be text")
    return ids


def _column(text: str, separator: str) -> list[str]:
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    if not rows:
        raise ValueError("it is empty")
    names = rows[0]
    found = [0] if len(names) == 1 else [names.index(name) for name in _COLUMNS if name in names]
    if not found:
        raise ValueError(f"none of its columns is called {', '.join(_COLUMNS)}")
    return [row[found[0]] if found[0] < len(row) else "" for row in rows[1:]]


def _typed(texts: list[str]) -> list[Id]:
    while texts and not texts[-1]:  # blank lines at the end
        texts.pop()
    numbers = [_plain_integer(one) for one in texts]
    return list(texts) if None in numbers else [one for one in numbers if one is not None]


def _plain_integer(text: str) -> int | None:
    if len(text) > 20 or not text.isascii() or not text.removeprefix("-").isdigit():
        return None
    number = int(text)
    return number if str(number) == text and -(1 << 63) <= number < 1 << 63 else None


def _check(ids: list[Id]) -> None:
    if not ids:
        raise ValueError("it is empty")
    seen: set[Id] = set()
    for row, one in enumerate(ids, start=1):
        if one == "" or one in seen:
            raise ValueError(f"row {row} has no id, or one that was there before")
        seen.add(one)
