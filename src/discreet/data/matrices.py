"""Ratings that come as arrays already: scipy sparse matrices and row pointers."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from discreet.catalogue import Catalogue, IdArray, Ids, as_ids
from discreet.data.arrays import arrange
from discreet.data.rows import Encoded, bring_inside, check_filled, check_range
from discreet.data.rules import LeftOut, RowRules, check_dropped
from discreet.errors import RatingsInvalid

__all__ = ["Entries", "encode_entries", "of_arrays", "of_sparse"]


Entries: TypeAlias = tuple[
    npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64], tuple[int, int]
]
"""Ratings one by one: user rows, item columns, values; and the shape of their matrix."""


def of_sparse(matrix: Any, explicit: bool) -> Entries:
    """The stored entries of a scipy sparse matrix; for implicit feedback a stored zero is no entry."""
    is_sparse: bool = sparse.issparse(matrix)
    if not is_sparse:
        raise RatingsInvalid(f"a scipy sparse matrix is needed, not {type(matrix).__name__}")
    stored = matrix.tocoo()
    if stored.dtype.kind not in "biuf":
        raise RatingsInvalid(f"the matrix holds {stored.dtype}, not real numbers")
    kept = np.ones(stored.nnz, dtype=bool) if explicit else stored.data != 0
    users, items, values = (part[kept] for part in (stored.row, stored.col, stored.data))
    return users.astype(np.int64), items.astype(np.int64), values.astype(np.float64), matrix.shape


def of_arrays(
    indptr: npt.ArrayLike, items: npt.ArrayLike, values: npt.ArrayLike, n_items: int | None
) -> Entries:
    """Entries from row pointers; without a number of items the highest index decides."""
    pointers, columns = np.asarray(indptr), np.asarray(items)
    numbers = np.asarray(values, dtype=np.float64)
    if pointers.ndim != 1 or columns.ndim != 1 or columns.shape != numbers.shape:
        raise RatingsInvalid("indptr, items and values must be flat, and items and values equally long")
    if pointers.dtype.kind not in "iu" or (columns.dtype.kind not in "iu" and columns.size):
        raise RatingsInvalid("indptr and items must be whole numbers")
    bounds = pointers.astype(np.int64)
    steps = bounds[1:] - bounds[:-1]
    if len(pointers) < 2 or pointers[0] != 0 or pointers[-1] != len(columns) or (steps < 0).any():
        raise RatingsInvalid("indptr must rise from 0 to the number of ratings, one step for each user")
    highest = int(columns.max(initial=-1)) + 1
    if columns.min(initial=0) < 0 or (n_items is not None and highest > n_items):
        raise RatingsInvalid(f"item indices must lie between 0 and {(n_items or highest) - 1}")
    users = np.repeat(np.arange(len(steps)), steps)
    return users, columns.astype(np.int64), numbers, (len(steps), n_items or highest)


def encode_entries(
    entries: Entries,
    catalogue: Catalogue | None,
    rating_range: tuple[float, float] | None,
    user_ids: Ids | None,
    rules: RowRules,
) -> tuple[Encoded, npt.NDArray[np.int64]]:
    """Check entries and sort them; also the positions, among those kept, of those that repeat an earlier pair."""
    rating_range = check_range(rating_range, rated=rating_range is not None)
    users, items, values, (n_users, n_items) = entries
    check_filled(len(items))
    missing = ~np.isfinite(values)
    values, outside, _ = bring_inside(values, missing, rating_range or (-math.inf, math.inf), rules)
    left_out, kept = LeftOut(int(missing.sum()), int(outside.sum())), ~(missing | outside)
    if not kept.any():
        raise RatingsInvalid(
            f"none of the {len(kept)} entries can be used; check the values and the rating range"
        )
    check_dropped(len(kept), left_out, rules)
    if not kept.all():
        users, items, values = users[kept], items[kept], values[kept]
    seen = None
    if catalogue is None:
        seen, items = np.unique(items, return_inverse=True)
        n_items = len(seen)
    elif n_items != len(catalogue):
        raise RatingsInvalid(
            f"the matrix has {n_items} columns and the catalogue {len(catalogue)} items; give one column for "
            "each item, in the catalogue's order"
        )
    if rating_range is None:
        values = np.ones(len(items))
    arrays, repeats = arrange(users, items, values, n_users, n_items)
    left_out = left_out._replace(merged=len(repeats))
    return Encoded(arrays, _row_ids(user_ids, n_users), seen, rating_range, left_out), repeats


def _row_ids(user_ids: Ids | None, n_users: int) -> IdArray:
    if user_ids is None:
        return np.arange(n_users)
    try:
        ids = as_ids(user_ids)
    except TypeError as error:
        raise RatingsInvalid(f"the user ids cannot be used: {error}") from error
    if len(ids) != n_users:
        raise RatingsInvalid(f"there are {len(ids)} user ids for {n_users} rows; give one for each row")
    if ids.null_count() or ids.n_unique() < n_users:
        raise RatingsInvalid("the user ids have gaps or repeat; give every row its own id")
    distinct: IdArray = ids.to_numpy(writable=True)
    return distinct
