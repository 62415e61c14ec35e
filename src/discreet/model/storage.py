"""A model on disk: arrays as safetensors, the rest as JSON, and a manifest with the digest of every file.

    model.safetensors   the item side: arrays, and the rule that folds people in (discreet.model.wire)
    model.json          method and settings
    catalogue.json      the items in the order of the arrays
    statement.json      what the release promises
    manifest.json       format, version, SHA-256 of each file above

Nothing here is pickled. A model is written beside its place and renamed into it, so what bears its name is
always whole. Loading hashes the bytes it then parses, and refuses what was altered, is missing or was
added. The manifest finds accidents and careless edits; it is no signature against someone who rewrites it
as well.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from discreet.catalogue import Catalogue
from discreet.errors import DiscreetError, ModelInvalid
from discreet.model.directory import replace_directory
from discreet.model.item_side import ItemSide
from discreet.model.wire import item_side_from_bytes, item_side_to_bytes
from discreet.privacy.statement import Statement

__all__ = ["MANIFEST", "Parts", "check_target", "digest", "load", "save"]

FORMAT, VERSION = "discreet-model", 2
MANIFEST = "manifest.json"
ARRAYS, MODEL, CATALOGUE, STATEMENT = "model.safetensors", "model.json", "catalogue.json", "statement.json"
FILES = (ARRAYS, MODEL, CATALOGUE, STATEMENT)

T = TypeVar("T")


@dataclass(frozen=True)
class Parts:
    """What a model consists of."""

    item_side: ItemSide
    catalogue: Catalogue
    statement: Statement
    method: str
    settings: dict[str, Any]


def save(parts: Parts, directory: str | Path, *, overwrite: bool = False) -> Path:
    """Write all files beside ``directory`` and rename them into place."""
    target = check_target(directory, overwrite=overwrite)
    replace_directory(target, _written(parts))
    return target


def digest(parts: Parts) -> str:
    """SHA-256 of the manifest that the model is saved with: it names the model, saved or not."""
    return hashlib.sha256(_written(parts)[MANIFEST]).hexdigest()


def _written(parts: Parts) -> dict[str, bytes]:
    files = {
        ARRAYS: item_side_to_bytes(parts.item_side),
        MODEL: _dump({"method": parts.method, "settings": parts.settings}),
        CATALOGUE: parts.catalogue.to_json().encode(),
        STATEMENT: parts.statement.to_json().encode(),
    }
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    files[MANIFEST] = _dump({"format": FORMAT, "version": VERSION, "files": digests})
    return files


def check_target(directory: str | Path, *, overwrite: bool = False) -> Path:
    """Refuse a place where a model cannot be put; worth asking before training, not after."""
    target = Path(directory).absolute()
    if not target.parent.is_dir():
        raise ModelInvalid(f"{target.parent} is not a directory; create it before a model is put into it")
    if not target.exists() and not target.is_symlink():
        return target
    if not target.is_dir() or target.is_symlink():
        raise ModelInvalid(f"{target} exists and is not a directory; choose another name")
    if any(target.iterdir()):
        if not (target / MANIFEST).is_file():
            raise ModelInvalid(f"{target} has other files in it and no model; choose another name")
        if not overwrite:
            raise ModelInvalid(
                f"{target} already has a model; choose another name, or ask to replace it "
                "(overwrite=True, on the command line --force)"
            )
    return target


def load(directory: str | Path) -> Parts:
    """Read, verify and parse all files; any deviation is a `ModelInvalid` that names the file."""
    folder = Path(directory)
    files = _verified(folder)
    method, settings = _parse(folder / MODEL, lambda: _description(files[MODEL]))
    return Parts(
        item_side=_parse(folder / ARRAYS, lambda: item_side_from_bytes(files[ARRAYS])),
        catalogue=_parse(folder / CATALOGUE, lambda: Catalogue.from_json(files[CATALOGUE].decode())),
        statement=_parse(folder / STATEMENT, lambda: Statement.from_json(files[STATEMENT].decode())),
        method=method,
        settings=settings,
    )


def _description(content: bytes) -> tuple[str, dict[str, Any]]:
    read = _object(content, {"method", "settings"})
    method, settings = read["method"], read["settings"]
    if not isinstance(method, str) or not isinstance(settings, dict):
        raise ValueError("the method must be a name, and its settings an object")
    return method, settings


def _verified(folder: Path) -> dict[str, bytes]:
    """The bytes of every file, each with the digest the manifest gives it."""
    if not (folder / MANIFEST).is_file():
        raise ModelInvalid(f"{folder} is not a model directory: it has no {MANIFEST}")
    manifest = _parse(
        folder / MANIFEST,
        lambda: _object((folder / MANIFEST).read_bytes(), {"format", "version", "files"}),
    )
    if (manifest["format"], manifest["version"]) != (FORMAT, VERSION):
        raise ModelInvalid(
            f"{folder / MANIFEST} says {manifest['format']!r} version {manifest['version']!r}; this release "
            f"reads {FORMAT!r} version {VERSION}"
        )
    digests = manifest["files"]
    if not isinstance(digests, dict) or set(digests) != set(FILES):
        raise ModelInvalid(f"{folder / MANIFEST} was altered: it does not list exactly {', '.join(FILES)}")
    present = {entry.name for entry in folder.iterdir()}
    for name in sorted(present - {MANIFEST, *FILES}):
        raise ModelInvalid(f"{folder / name} does not belong to the model; take it out of the directory")
    return {name: _verified_bytes(folder / name, digests[name]) for name in FILES}


def _verified_bytes(path: Path, digest: object) -> bytes:
    if not path.is_file():
        raise ModelInvalid(f"{path} is missing; the model is incomplete, copy or train it again")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise ModelInvalid(
            f"{path} does not have the digest that {MANIFEST} gives it: one of the two was altered since the "
            "model was saved; copy or train it again"
        )
    return content


def _parse(path: Path, read: Callable[[], T]) -> T:
    """Whatever is wrong inside a file becomes a `ModelInvalid` with the file's name."""
    try:
        return read()
    except (ValueError, TypeError, KeyError, RecursionError, DiscreetError) as error:
        raise ModelInvalid(f"{path} cannot be used: {error}") from error


def _dump(content: dict[str, Any]) -> bytes:
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False).encode()


def _object(content: bytes, keys: set[str]) -> dict[str, Any]:
    read = json.loads(content, parse_constant=_no_constant)
    if not isinstance(read, dict) or set(read) != keys:
        raise ValueError(f"it must be an object with exactly {', '.join(sorted(keys))}")
    return read


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a finite number")
