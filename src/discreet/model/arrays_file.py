"""The item side as plain NumPy arrays in one file, for whoever scores with something else.

ids        int64, or text
design     items x (1 + rank)
level      one number an item
offsets, factors, popularity    what these were made of, as released

What orders a list for a user is ``design @ coefficients + level``. With ``level`` as one more column, and a 1 as one
more coefficient, it is the inner product that indices such as faiss and usearch search by.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.model.directory import replace_file
from discreet.model.listing import order_terms
from discreet.model.model import Model

__all__ = ["arrays_of", "write_arrays"]


def arrays_of(model: Model) -> dict[str, npt.NDArray[Any]]:
    """The arrays by name; none of them needs pickle."""
    side = model.factors
    design, level = order_terms(side, model.by_popularity)
    ids = model.catalogue.ids
    named = {"ids": ids if ids.dtype.kind == "i" else ids.astype(str), "design": design, "level": level}
    named |= {"offsets": side.offsets, "factors": side.factors}
    return named | ({} if side.popularity is None else {"popularity": side.popularity})


def write_arrays(model: Model, path: str | Path) -> dict[str, list[int]]:
    """Write them as ``.npz``, whole or not at all; the shape of each."""
    arrays = arrays_of(model)
    replace_file(
        Path(path),
        lambda file: np.savez(file, allow_pickle=False, **arrays),
        private=not model.statement.private,
    )
    return {name: list(array.shape) for name, array in arrays.items()}
