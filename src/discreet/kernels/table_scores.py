"""Scores from a sparse table: each item of a history adds its row, and the best of the sums are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.checks import check_index, check_rows, check_shapes
from discreet.kernels.compile import kernel
from discreet.kernels.ranking import choosable, no_lists, select
from discreet.kernels.threads import claim, share
from discreet.types import Array, Bools, Floats, Indices, Ints, Singles

__all__ = ["Table", "table_scores", "table_top"]


@dataclass(frozen=True, eq=False)
class Table:
    """Compressed sparse rows over the items: what an item of a history adds, and to which others.

    Checked when it is made, not with every list.
    """

    starts: Ints
    others: NDArray[np.int32]
    weights: Singles

    def __post_init__(self) -> None:
        """Refuse rows that are none, and put the arrays as compiled code reads them."""
        check_rows(self.starts, self.others, len(self.starts) - 1)
        check_shapes(weights=(self.weights, self.others.shape))
        for name, kind in (("starts", np.int64), ("others", np.int32), ("weights", np.float32)):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), kind))


def table_top(
    histories: tuple[Indices, Indices, Array],
    table: Table,
    offsets: Array,
    n: int,
    exclude_indptr: Indices | None = None,
    exclude_items: Indices | None = None,
    allowed: Bools | None = None,
) -> tuple[NDArray[np.int32], Floats]:
    """The `n` items with the highest sum of rows and offset, for every history.

    Parameters
    ----------
    histories
        Compressed sparse rows: items and how much each says.
    table
        What each item of a history adds.
    offsets
        One for each item: its score without a history.
    n, exclude_indptr, exclude_items, allowed
        As in `discreet.kernels.ranking.top_n`, and so is what comes back.
    """
    rows, m = len(histories[0]) - 1, len(offsets)
    history = _checked(histories, table, m)
    choice = choosable(rows, m, exclude_indptr, exclude_items, allowed)
    index, scores = no_lists(rows, n)
    if index.size and m:
        share(
            _table_top,
            rows,
            float(rows) * m + float(len(histories[1])) * len(table.others) / max(m, 1),
            *history,
            np.ascontiguousarray(offsets, np.float64),
            *choice,
            index,
            scores,
        )
    return index, scores


def table_scores(
    histories: tuple[Indices, Indices, Array],
    table: Table,
    offsets: Array,
    users: Indices,
    items: Indices,
) -> Floats:
    """The same sums for single pairs of a history and an item; the pairs of a history stand together."""
    history = _checked(histories, table, len(offsets))
    check_index(users, len(histories[0]) - 1)
    check_index(items, len(offsets))
    out = np.empty(len(items))
    _table_scores(
        *history,
        np.ascontiguousarray(offsets, np.float64),
        np.ascontiguousarray(users, np.int64),
        np.ascontiguousarray(items, np.int64),
        out,
    )
    return out


def _checked(histories: tuple[Indices, Indices, Array], table: Table, m: int) -> tuple[Any, ...]:
    """Histories and table as compiled code reads them."""
    indptr, items, values = histories
    check_rows(indptr, items, m)
    check_shapes(values=(values, items.shape), starts=(table.starts, (m + 1,)))
    kinds = (indptr, np.int64), (items, np.int32), (values, np.float64)
    rows = (np.ascontiguousarray(array, kind) for array, kind in kinds)
    return *rows, table.starts, table.others, table.weights


@kernel
def _add_rows(
    row: Any, user: int, indptr: Any, items: Any, values: Any, starts: Any, others: Any, weights: Any
) -> None:
    for place in range(indptr[user], indptr[user + 1]):
        value, item = values[place], items[place]
        for entry in range(starts[item], starts[item + 1]):
            row[others[entry]] += value * weights[entry]


@kernel
def _table_top(
    counter: Any,
    grain: int,
    indptr: Any,
    items: Any,
    values: Any,
    starts: Any,
    others: Any,
    weights: Any,
    offsets: Any,
    exclude_indptr: Any,
    exclude_items: Any,
    allowed: Any,
    index: Any,
    scores: Any,
) -> None:
    rows, m = len(indptr) - 1, len(offsets)
    row = np.empty(m)
    first = claim(counter, grain)
    while first < rows:
        for user in range(first, min(first + grain, rows)):
            for j in range(m):
                row[j] = offsets[j] if allowed[j] else np.nan
            _add_rows(row, user, indptr, items, values, starts, others, weights)
            for entry in range(exclude_indptr[user], exclude_indptr[user + 1]):
                row[exclude_items[entry]] = np.nan
            select(row, index[user], scores[user])
        first = claim(counter, grain)


@kernel
def _table_scores(
    indptr: Any,
    items: Any,
    values: Any,
    starts: Any,
    others: Any,
    weights: Any,
    offsets: Any,
    users: Any,
    wanted: Any,
    out: Any,
) -> None:
    row = np.empty(len(offsets))
    last = -1
    for pair in range(len(wanted)):
        if users[pair] != last:
            last = users[pair]
            row[:] = offsets
            _add_rows(row, last, indptr, items, values, starts, others, weights)
        out[pair] = row[wanted[pair]]
