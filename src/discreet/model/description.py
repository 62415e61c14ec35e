"""What a model folder says about itself: whose it is, what it promises, and the digests of its files.

Folders of every format are described, also those whose arrays this release does not load.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.catalogue import Catalogue
from discreet.errors import ModelInvalid
from discreet.model import storage
from discreet.model.model import Model
from discreet.model.wire import item_side_from_bytes
from discreet.privacy.statement import Statement

__all__ = ["Description", "describe"]


@dataclass(frozen=True)
class Description:
    """A model folder without its arrays.

    Parameters
    ----------
    name
        Of the folder.
    format
        Number of the storage format.
    method, settings, written, items, statement
        What the files say: ``items`` is the size of the catalogue.
    digest, settings_digest
        Of the model, and of method and settings: the same on whatever day they were written.
    digests
        SHA-256 of each file.
    unloadable
        Why this release cannot load the arrays; None where it can, and found that they fit the statement.
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
    unloadable: str | None


def describe(directory: str | Path) -> Description:
    """Read and verify a model folder of any format.

    Raises
    ------
    ModelInvalid
        When a file is missing, altered or added, when the statement does not add up or does not fit the arrays, and
        for what another version wrote in a form of its own; the message names the version that reads it.
    """
    folder = Path(directory)
    stored = storage.verified(folder)
    method, settings, written = storage.parse(
        folder / storage.MODEL, lambda: storage.description(stored.files[storage.MODEL], stored.version)
    )
    catalogue = storage.parse(
        folder / storage.CATALOGUE, lambda: Catalogue.from_json(stored.files[storage.CATALOGUE].decode())
    )
    statement = storage.parse(
        folder / storage.STATEMENT, lambda: Statement.from_json(stored.files[storage.STATEMENT].decode())
    )
    unloadable = None
    if stored.version in storage.EARLIER:
        unloadable = f"format {stored.version}, which discreet {storage.EARLIER[stored.version]} loads"
    else:
        try:
            side = item_side_from_bytes(stored.files[storage.ARRAYS])
        except ModelInvalid as error:
            unloadable = f"{storage.ARRAYS}: {error}"
        else:
            statement = Model(side, catalogue, statement, method, settings).statement
    return Description(
        name=folder.absolute().name,
        format=stored.version,
        method=method,
        settings=settings,
        written=written,
        items=len(catalogue),
        statement=statement,
        digest=storage.model_digest(stored.files, method, settings),
        settings_digest=storage.settings_digest(method, settings),
        digests=stored.digests(),
        unloadable=unloadable,
    )
