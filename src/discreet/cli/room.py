"""Whether a model can be written where it shall go, asked before a budget is spent on it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from discreet.catalogue import Catalogue
from discreet.errors import ModelInvalid

__all__ = ["check_room"]

# What a model may take: factors in 64 bits of a rank that methods choose themselves up to here, with the doubt about
# each item beside them, and ids and titles of some length.
_RANK, _PER_FACTOR, _PER_ITEM, _ALWAYS = 64, 16, 400, 1 << 20


def check_room(out: str, catalogue: Any, options: dict[str, Any]) -> None:
    """Refuse a folder that cannot be written to, and a disk that is too full for the model.

    Parameters
    ----------
    catalogue
        The items, where they are known.
    options
        Of training; ``rank`` among them.
    """
    folder = Path(out).absolute().parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ModelInvalid(
            f"{folder} cannot be written to: {error.strerror}; choose another --out. Nothing was spent"
        ) from error
    items = len(catalogue) if isinstance(catalogue, Catalogue) else 0
    rank = options["rank"] if isinstance(options.get("rank"), int) else _RANK
    needed = _ALWAYS + items * (rank * _PER_FACTOR + _PER_ITEM)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ModelInvalid(
            f"{folder} has {free / 1e6:.0f} MB left, and the model may take {needed / 1e6:.0f} MB; make room, or "
            "choose another --out. Nothing was spent"
        )
