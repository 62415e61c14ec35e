"""The record of a run: ``NAME.json`` holds everything but the pictures beside it, ``NAME.svg`` and ``NAME-KEY.svg``.

Nothing else is stored. Pages, CSV files and Markdown tables are made from records.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import discreet
from discreet import __version__
from discreet.errors import SettingsInvalid
from reproduction import registry
from reproduction.context import Context
from reproduction.experiment import Finished
from reproduction.output import plotting
from reproduction.result import Table

Record = dict[str, Any]


@cache
def code() -> str:
    """A digest of the library and of the experiments: numbers of other code are not gone on with."""
    digest = hashlib.sha256()
    for root in (Path(discreet.__file__).parent, Path(__file__).parents[1]):
        for file in sorted(root.rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


_FIELDS = {
    "name",
    "title",
    "source",
    "shows",
    "paper_found",
    "size",
    "seed",
    "draws",
    "seconds",
    "cores",
    "version",
}
_FIELDS |= {"data", "notes", "findings", "tables", "pictures"}


def write(finished: Finished, folder: Path) -> list[Path]:
    """Write the pictures, if there are any, and then ``NAME.json``; give back their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    name = finished.experiment.name
    record = folder / f"{name}.json"
    content = json.dumps(as_record(finished), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    images = {picture(name, key): plotting.image(one) for key, one in finished.result.figures.items()}
    # Without its record an experiment has no result: the old one goes first, the new one comes last.
    for old in _pictures_at(record):
        old.unlink(missing_ok=True)
    record.unlink(missing_ok=True)
    for file, image in images.items():
        (folder / file).write_bytes(image)
    record.write_bytes(content.encode())
    return [*(folder / file for file in images), record]


def picture(name: str, key: str) -> str:
    """The file of one of an experiment's pictures."""
    return f"{name}-{key}.svg" if key else f"{name}.svg"


def _pictures_at(record: Path) -> list[Path]:
    """The pictures that an earlier run of the experiment left beside its record."""
    try:
        keys = json.loads(record.read_text(encoding="utf-8"))["pictures"]
        return [record.parent / picture(record.stem, key) for key in keys]
    except (OSError, ValueError, KeyError, TypeError):
        return [record.with_suffix(".svg")]


def as_record(finished: Finished) -> Record:
    """Everything but the picture."""
    experiment, result = finished.experiment, finished.result
    return {
        **{name: getattr(experiment, name) for name in ("name", "title", "source", "shows", "paper_found")},
        "size": finished.size,
        "seed": finished.seed,
        "draws": finished.draws,
        "trials": finished.trials,
        "seconds": round(finished.seconds, 2),
        "cores": os.cpu_count(),
        "version": __version__,
        "code": code(),
        "data": list(result.data),
        "notes": list(result.notes),
        "findings": [asdict(finding) for finding in result.findings],
        "tables": [table.to_dict() for table in result.tables],
        "pictures": list(result.figures),
    }


def read_all(folder: Path, *, allow_quick: bool = False) -> list[Record]:
    """The records in a folder, in the registry's order; one of an experiment that no longer exists is left out."""
    files = [folder / f"{name}.json" for name in registry.names()]
    records = [_read(file) for file in files if file.is_file()]
    if not records:
        raise SettingsInvalid(
            f"{folder} holds no results; fill it with: python -m reproduction all --out {folder}"
        )
    quick = [record["name"] for record in records if record["size"] == "quick"]
    if quick and not allow_quick:
        raise SettingsInvalid(
            f"{', '.join(quick)} in {folder} come from quick runs, whose numbers mean little; run them in full, "
            "or use --allow-quick, which marks them"
        )
    return records


def is_done(name: str, context: Context, folder: Path) -> bool:
    """Whether the folder has the record of this experiment, by this very code and in these circumstances."""
    file = folder / f"{name}.json"
    try:
        record = _read(file) if file.is_file() else {}
    except SettingsInvalid:
        return False
    wanted = {"code": code(), "size": context.size, "seed": context.seed}
    asked = context.draws in (None, record.get("draws"))
    return asked and all(record.get(name) == value for name, value in wanted.items())


def _read(file: Path) -> Record:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise SettingsInvalid(f"{file} is not valid JSON ({error}); run the experiment again") from None
    if not isinstance(content, dict) or not set(content) >= _FIELDS:
        raise SettingsInvalid(f"{file} is not the record of an experiment; run it again")
    try:
        missing = [
            one
            for one in (file.with_name(picture(file.stem, key)) for key in content["pictures"])
            if not one.is_file()
        ]
        if missing:
            raise SettingsInvalid(f"{missing[0]} is not beside its record; run the experiment again")
        for table in content["tables"]:
            Table.from_dict(table)
    except (KeyError, TypeError, ValueError):
        raise SettingsInvalid(f"{file} holds a table that cannot be read; run the experiment again") from None
    return content
