"""A model on disk: arrays as safetensors, the rest as JSON, and a manifest with the digest of every file.

    model.safetensors   the item side: arrays, and as metadata the rest of it (discreet.model.wire); silos send the same
    model.json          method and settings; the day on which, and the version by which, it was written
    catalogue.json      the items in the order of the arrays
    statement.json      what the release promises
    manifest.json       format, version, SHA-256 of each file above

Nothing here is pickled. A model is written beside its place and renamed into it, so what bears its name is
always whole. Loading hashes the bytes it then parses, and refuses what was altered, is missing or was
added. The manifest finds accidents and careless edits; it is no signature against someone who rewrites it
as well (``discreet statement --sign`` makes one).

The date is a day and no time, and a model that was chosen among trials has none: the number of trials must stay
secret (``privacy/proofs/selection.md``), and when a search ended tells something about it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import safetensors.numpy

from discreet.catalogue import Catalogue
from discreet.catalogue.columns import no_file
from discreet.errors import DiscreetError, ModelInvalid
from discreet.model.directory import replace_directory
from discreet.model.item_side import ItemSide
from discreet.model.item_weights import AnySide, ItemWeights
from discreet.model.wire import KIND, from_parts, to_parts
from discreet.privacy.statement import Statement
from discreet.version import __version__

__all__ = [
    "MANIFEST",
    "Parts",
    "Written",
    "check_target",
    "digest",
    "digests",
    "item_side_from_bytes",
    "item_side_to_bytes",
    "read",
    "save",
    "settings_digest",
    "side_from_bytes",
]

FORMAT, VERSION = "discreet-model", 2
MANIFEST = "manifest.json"
ARRAYS, MODEL, CATALOGUE, STATEMENT = "model.safetensors", "model.json", "catalogue.json", "statement.json"
FILES = (ARRAYS, MODEL, CATALOGUE, STATEMENT)

_SIDE = "discreet item side 2"

T = TypeVar("T")


class Parts(NamedTuple):
    """What a model consists of."""

    item_side: AnySide
    catalogue: Catalogue
    statement: Statement
    method: str
    settings: dict[str, Any]


@dataclass(frozen=True)
class Written:
    """The version by which a model was written, and the day, which one that was chosen among trials does not have."""

    by: str
    on: str | None = None


def save(parts: Parts, directory: str | Path, *, overwrite: bool = False) -> Path:
    """Write all files beside ``directory`` and rename them into place; without a promise for their owner alone."""
    target = check_target(directory, overwrite=overwrite)
    files = _files(parts)
    files[MANIFEST] = _dump({"format": FORMAT, "version": VERSION, "files": digests(files)})
    replace_directory(target, files, private=not parts.statement.private)
    return target


def _files(parts: Parts) -> dict[str, bytes]:
    day = {} if parts.statement.selection is not None else {"on": datetime.now(UTC).date().isoformat()}
    about = {"method": parts.method, "settings": parts.settings, "written": day | {"by": __version__}}
    return {
        ARRAYS: item_side_to_bytes(parts.item_side),
        MODEL: _dump(about),
        CATALOGUE: parts.catalogue.to_json().encode(),
        STATEMENT: parts.statement.to_json().encode(),
    }


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """SHA-256 of each file, by name, in the order of the names."""
    return {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)}


def digest(parts: Parts, files: Mapping[str, bytes] | None = None) -> str:
    """One digest of a model: the same on whatever day, and by whatever version, the same model was written.

    SHA-256 of the lines that ``sha256sum`` would print for catalogue, arrays, settings and statement, in this order.
    """
    named = digests(_files(parts) if files is None else files) | {
        "settings": settings_digest(parts.method, parts.settings)
    }
    printed = "".join(
        f"{named[name]}  {name}\n" for name in sorted([ARRAYS, CATALOGUE, STATEMENT, "settings"])
    )
    return hashlib.sha256(printed.encode()).hexdigest()


def settings_digest(method: str, settings: dict[str, Any]) -> str:
    """SHA-256 of method and settings as JSON with sorted keys."""
    content = {"method": method, "settings": settings}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


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


def read(directory: str | Path) -> tuple[Parts, Written, dict[str, bytes]]:
    """Verify and parse all files, and the bytes of each; any deviation is a `ModelInvalid` that names the file."""
    folder = Path(directory)
    files = _verified(folder)

    def parsed(name: str, parse: Callable[[bytes], T]) -> T:
        return _parsed(folder / name, lambda: parse(files[name]))

    method, settings, written = parsed(MODEL, _description)
    side, catalogue = (
        parsed(ARRAYS, side_from_bytes),
        parsed(CATALOGUE, lambda one: Catalogue.from_json(one.decode())),
    )
    statement = parsed(STATEMENT, lambda one: Statement.from_json(one.decode()))
    return Parts(side, catalogue, statement, method, settings), written, files


def _description(content: bytes) -> tuple[str, dict[str, Any], Written]:
    read = _object(content, {"method", "settings", "written"})
    method, settings, written = read["method"], read["settings"], read["written"]
    if not isinstance(method, str) or not isinstance(settings, dict):
        raise ValueError("the method must be a name, and its settings an object")
    if not isinstance(written, dict) or not {"by"} <= written.keys() <= {"on", "by"}:
        raise ValueError("'written' must be an object with 'by', and 'on' at most beside")
    if not all(isinstance(entry, str) for entry in written.values()):
        raise ValueError("'written' must give a day and a version as text")
    return method, settings, Written(**written)


def _verified(folder: Path) -> dict[str, bytes]:
    """The bytes of every file, each with the digest that the manifest gives it."""
    place = folder / MANIFEST
    if not place.is_file():
        if not folder.exists():
            raise ModelInvalid(no_file(folder, "model"))
        raise ModelInvalid(f"{folder} is not a model directory: it has no {MANIFEST}")
    manifest = _parsed(place, lambda: _object(_whole(place), {"format", "version", "files"}))
    version, known = manifest["version"], manifest["files"]
    if manifest["format"] != FORMAT or type(version) is not int or version != VERSION:
        raise ModelInvalid(
            f"{place} says {manifest['format']!r} version {version!r}; this release "
            f"reads {FORMAT!r} version {VERSION}: a later release may read it, or the file was altered"
        )
    if not isinstance(known, dict) or set(known) != set(FILES):
        raise ModelInvalid(f"{place} was altered: it does not list exactly {', '.join(FILES)}")
    for name in sorted({entry.name for entry in folder.iterdir()} - {MANIFEST, *FILES}):
        raise ModelInvalid(f"{folder / name} does not belong to the model; take it out of the directory")
    return {name: _verified_bytes(folder / name, known[name]) for name in FILES}


def _verified_bytes(path: Path, digest: object) -> bytes:
    if not path.is_file():
        raise ModelInvalid(f"{path} is missing; the model is incomplete, copy or train it again")
    content = _whole(path)
    if hashlib.sha256(content).hexdigest() != digest:
        raise ModelInvalid(
            f"{path} does not have the digest that {MANIFEST} gives it: one of the two was altered since the "
            "model was saved; copy or train it again"
        )
    return content


def _whole(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except MemoryError:
        size = path.stat().st_size
        raise ModelInvalid(
            f"{path} has {size:,} bytes, for which there is no memory on this machine"
        ) from None


def _parsed(path: Path, read: Callable[[], T]) -> T:
    """Whatever is wrong inside a file becomes a `ModelInvalid` with the file's name."""
    try:
        return read()
    except (ValueError, TypeError, KeyError, RecursionError, DiscreetError) as error:
        raise ModelInvalid(f"{path} cannot be used: {error}") from error


def _dump(content: dict[str, Any]) -> bytes:
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False).encode()


def _object(content: bytes, keys: Set[str]) -> dict[str, Any]:
    read = json.loads(content, parse_constant=_no_constant)
    if not isinstance(read, dict) or set(read) != keys:
        raise ValueError(f"it must be an object with exactly {', '.join(sorted(keys))}")
    _dump(read)  # what could not have been written: 1e999, half of a surrogate pair
    return read


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a finite number")


def item_side_to_bytes(side: AnySide) -> bytes:
    """The item side as a safetensors file."""
    content, arrays = to_parts(side)
    metadata = {"content": json.dumps(content, allow_nan=False), "format": _SIDE}
    body: bytes = safetensors.numpy.save(
        {name: np.ascontiguousarray(one) for name, one in arrays.items()}, metadata
    )
    header, end = _header(body)
    header["__metadata__"] = (
        metadata  # in one order: safetensors writes it in one that changes from run to run
    )
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # arrays start at a multiple of eight
    return len(text).to_bytes(8, "little") + text + body[end:]


def item_side_from_bytes(body: bytes) -> ItemSide:
    """An item side of factors back, checked; as `side_from_bytes`."""
    side = side_from_bytes(body)
    if not isinstance(side, ItemSide):
        raise ModelInvalid("this is a table of weights, not an item side of factors")
    return side


def side_from_bytes(body: bytes) -> AnySide:
    """The item side back, checked: `ModelInvalid` for anything that is not exactly one whole item side."""
    try:
        arrays = safetensors.numpy.load(body)
        metadata = _header(body)[0].get("__metadata__") or {}
        if metadata.get("format") != _SIDE:
            raise ModelInvalid(f"the format is {metadata.get('format')!r}; this release reads {_SIDE!r}")
        if not metadata.keys() <= {"format", "content"}:
            raise ModelInvalid(f"the metadata has {', '.join(sorted(metadata))}")
        content = json.loads(metadata["content"])
    except (safetensors.SafetensorError, ValueError, KeyError, RecursionError) as error:
        raise ModelInvalid(f"this is not an item side: {error}") from None
    table = isinstance(content, dict) and content.get(KIND) == ItemWeights.__name__
    side: AnySide
    side = from_parts(ItemWeights, content, arrays) if table else from_parts(ItemSide, content, arrays)
    side.check()
    return side


def _header(body: bytes) -> tuple[dict[str, Any], int]:
    """A safetensors file's header, and where the arrays begin."""
    end = 8 + int.from_bytes(body[:8], "little")
    return json.loads(body[8:end]), end
