"""What a model folder says about itself: whose it is, what it promises, and the digests of its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.model import storage
from discreet.model.model import Model
from discreet.privacy.statement import Statement

__all__ = ["Description", "describe"]


@dataclass(frozen=True)
class Description:
    """A model folder without its arrays.

    ``items`` is the size of the catalogue, ``digest`` and ``settings_digest`` are the same on whatever day a model was
    written, and ``digests`` are those of the files.
    """

    name: str
    format: int
    method: str
    settings: dict[str, Any]
    written: storage.Written
    items: int
    statement: Statement
    digest: str
    settings_digest: str
    digests: dict[str, str]


def describe(directory: str | Path) -> Description:
    """Read and verify a model folder.

    Raises
    ------
    ModelInvalid
        When a file is missing, altered or added, or when the statement does not add up or does not fit the arrays.
    """
    parts, written, files = storage.read(directory)
    model = Model(*parts)
    return Description(
        name=Path(directory).absolute().name,
        format=storage.VERSION,
        method=model.method,
        settings=model.settings,
        written=written,
        items=len(model.catalogue),
        statement=model.statement,
        digest=storage.digest(parts, files),
        settings_digest=storage.settings_digest(model.method, model.settings),
        digests=storage.digests(files),
    )
