"""Factors on the disk: a folder with the message as it came down, and what was promised to whom."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.errors import ModelInvalid
from discreet.methods.prototypes.public.message import GlobalFactors
from discreet.model.directory import replace_directory
from discreet.privacy.statement import Statement

__all__ = ["FACTORS", "STATEMENT", "check_place", "load_factors", "save_factors"]

FACTORS, STATEMENT = "factors.bin", "statement.json"


def check_place(folder: str | Path, *, overwrite: bool) -> Path:
    """Refuse a place where factors cannot be put; worth asking before the run, not after."""
    target = Path(folder).absolute()
    if not target.parent.is_dir():
        raise ModelInvalid(f"{target.parent} is not a directory; create it before factors are put into it")
    if not target.exists() and not target.is_symlink():
        return target
    if not target.is_dir() or target.is_symlink():
        raise ModelInvalid(f"{target} exists and is not a directory; choose another name")
    names = {path.name for path in target.iterdir()}
    if names and names != {FACTORS, STATEMENT}:
        raise ModelInvalid(f"{target} has other files in it; choose another name")
    if names and not overwrite:
        raise ModelInvalid(f"{target} already has factors; choose another name, or give --force")
    return target


def save_factors(
    folder: str | Path, message: bytes, statements: Mapping[str, Statement], *, overwrite: bool
) -> dict[str, Any]:
    """Save the factors unless these very ones are there already; what they promise.

    Parameters
    ----------
    folder, overwrite
        Where to, and whether other factors there may be replaced.
    message
        As it came down.
    statements
        Of each silo whose statement is known here.
    """
    target = check_place(folder, overwrite=True)
    factors = GlobalFactors.from_bytes(message)
    promise = {
        "private": factors.private,
        "epsilon": factors.epsilon if factors.private else None,
        "delta": factors.delta if factors.private else None,
        "epsilon_in_two": factors.epsilon_in_two if factors.private else None,
        "silos": {name: statement.model_dump(mode="json") for name, statement in statements.items()},
    }
    files = {FACTORS: message, STATEMENT: (json.dumps(promise, indent=1) + "\n").encode()}
    there = {path.name: path.read_bytes() for path in target.iterdir()} if target.is_dir() else {}
    if there == files:
        return promise
    check_place(folder, overwrite=overwrite)
    replace_directory(target, files)
    return promise


def load_factors(folder: str | Path) -> GlobalFactors:
    """The factors in a folder."""
    try:
        return GlobalFactors.from_bytes((Path(folder) / FACTORS).read_bytes())
    except OSError as error:
        raise ModelInvalid(f"there are no factors in {folder}: {error.strerror}") from None
