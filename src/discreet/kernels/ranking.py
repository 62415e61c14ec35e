"""The best items of every row: scored by factors, a few rows at a time, or from a sparse table.

In a table each item of a history adds its row, and the best of the sums are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.kernels.checks import check_index, check_rows, check_shapes
from discreet.kernels.compile import kernel
from discreet.kernels.threads import claim, share
from discreet.kernels.tiles import HEIGHT, WIDE, add_product, aligned, lanes
from discreet.types import Array, Bools, Floats, Indices, Ints, Singles

__all__ = ["Panels", "Table", "panels", "table_scores", "table_top", "top_n"]

PANEL = WIDE * lanes("float64")
"""Items whose factors are stored side by side, one tile wide."""
LOOK = 32
"""Scores looked at together: only where one of them can enter the list are they taken one by one."""


class Panels(NamedTuple):
    """Factors as the ranking reads them; whoever ranks by the same ones again and again lays them out once."""

    blocks: Floats
    shape: tuple[int, int]


def panels(factors: Array) -> Panels:
    """Factors regrouped so that one tile reads consecutive numbers: panels x (d * PANEL)."""
    m, d = factors.shape
    count = -(-m // PANEL)
    whole = np.zeros((count * PANEL, d))
    whole[:m] = factors
    blocks = np.ascontiguousarray(whole.reshape(count, PANEL, d).transpose(0, 2, 1)).reshape(count * d, PANEL)
    return Panels(blocks, (m, d))


def top_n(
    coefficients: Array,
    factors: Array | Panels,
    offsets: Array,
    n: int,
    exclude_indptr: Indices | None = None,
    exclude_items: Indices | None = None,
    allowed: Bools | None = None,
) -> tuple[NDArray[np.int32], Floats]:
    """The `n` items with the highest ``coefficients[i] . factors[j] + offsets[j]`` for every row i.

    Parameters
    ----------
    coefficients, factors
        rows x d and items x d, as they are or laid out by `panels`; scores are computed in float64.
    offsets
        One for each item.
    n
        Length of each list.
    exclude_indptr, exclude_items
        Items each row must not be given (compressed sparse rows, in any order, repeats allowed); both or neither.
    allowed
        Items any row may be given; all where absent.

    Returns
    -------
    index, scores
        int32 and float64, rows x n, best first, equal scores by rising index. Where fewer than `n` items remain the
        rest is -1 and NaN. An item whose score is NaN is never given. Scores of equal items are equal bit for bit.
    """
    rows, (m, d) = len(coefficients), factors.shape
    check_shapes(coefficients=(coefficients, (rows, d)), offsets=(offsets, (m,)))
    choice = _choosable(rows, m, exclude_indptr, exclude_items, allowed)
    index, scores = _no_lists(rows, n)
    if index.size and m:
        share(
            _top_n,
            -(-rows // HEIGHT),
            float(rows) * m * (d + 1),
            np.ascontiguousarray(coefficients, np.float64),
            (factors if isinstance(factors, Panels) else panels(factors)).blocks,
            np.ascontiguousarray(offsets, np.float64),
            *choice,
            index,
            scores,
        )
    return index, scores


def _choosable(
    rows: int, m: int, exclude_indptr: Indices | None, exclude_items: Indices | None, allowed: Bools | None
) -> tuple[Indices, Indices, Bools]:
    """What each row must not be given and what any may, checked, as compiled code reads it."""
    if (exclude_indptr is None) != (exclude_items is None):
        raise ValueError("exclude_indptr and exclude_items go together")
    if exclude_indptr is None or exclude_items is None:
        exclude_indptr, exclude_items = np.zeros(rows + 1, np.int64), np.zeros(0, np.int32)
    check_rows(exclude_indptr, exclude_items, m)
    check_shapes(exclude_indptr=(exclude_indptr, (rows + 1,)), allowed=(allowed, (m,)))
    return (
        np.ascontiguousarray(exclude_indptr, np.int64),
        np.ascontiguousarray(exclude_items, np.int32),
        np.ones(m, bool) if allowed is None else np.ascontiguousarray(allowed, bool),
    )


def _no_lists(rows: int, n: int) -> tuple[NDArray[np.int32], Floats]:
    """Lists with nothing in them."""
    return np.full((rows, n), -1, np.int32), np.full((rows, n), np.nan)


@kernel
def _top_n(
    counter: Any,
    grain: int,
    coefficients: Any,
    panels: Any,
    offsets: Any,
    exclude_indptr: Any,
    exclude_items: Any,
    allowed: Any,
    index: Any,
    scores: Any,
) -> None:
    rows, d = coefficients.shape
    m = len(offsets)
    board = aligned(HEIGHT, -(-m // PANEL) * PANEL, offsets)
    turned = aligned(d, HEIGHT, offsets)
    first = claim(counter, 1) * HEIGHT
    while first < rows:
        some = min(HEIGHT, rows - first)
        for r in range(some):
            for j in range(m):
                board[r, j] = offsets[j] if allowed[j] else np.nan
            for c in range(d):
                turned[c, r] = coefficients[first + r, c]
        for panel in range(board.shape[1] // PANEL):
            add_product(board, 0, panel * PANEL, (panel + 1) * PANEL, turned, 0, panels, panel * d * PANEL, d)
        for r in range(some):
            i = first + r
            for entry in range(exclude_indptr[i], exclude_indptr[i + 1]):
                board[r, exclude_items[entry]] = np.nan
            _select(board[r, :m], index[i], scores[i])
        first = claim(counter, 1) * HEIGHT


@kernel
def _select(row: Any, index: Any, scores: Any) -> None:
    """Keep the best of a row in a heap whose root is the worst kept, then sort it."""
    n, m = len(index), len(row)
    kept = j = 0
    while j < m and kept < n:
        if not np.isnan(row[j]):
            index[kept] = j
            scores[kept] = row[j]
            kept += 1
        j += 1
    for place in range(kept // 2 - 1, -1, -1):
        _sink(index, scores, place, kept)
    while j < m:
        stop = min(j + LOOK, m)
        if _any_above(row, j, stop, scores[0]):
            for k in range(j, stop):
                if row[k] > scores[0]:
                    index[0] = k
                    scores[0] = row[k]
                    _sink(index, scores, 0, n)
        j = stop
    for last in range(kept - 1, 0, -1):
        index[0], index[last] = index[last], index[0]
        scores[0], scores[last] = scores[last], scores[0]
        _sink(index, scores, 0, last)


@kernel
def _any_above(row: Any, start: int, stop: int, bar: float) -> bool:
    above = 0
    for k in range(start, stop):
        above += row[k] > bar
    return above > 0


@kernel
def _worse(index: Any, scores: Any, a: int, b: int) -> bool:
    return bool(scores[a] < scores[b] or (scores[a] == scores[b] and index[a] > index[b]))


@kernel
def _sink(index: Any, scores: Any, place: int, size: int) -> None:
    """Restore the heap below one place."""
    while True:
        child = 2 * place + 1
        if child >= size:
            return
        if child + 1 < size and _worse(index, scores, child + 1, child):
            child += 1
        if not _worse(index, scores, child, place):
            return
        index[place], index[child] = index[child], index[place]
        scores[place], scores[child] = scores[child], scores[place]
        place = child


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
        As in `top_n`, and so is what comes back.
    """
    rows, m = len(histories[0]) - 1, len(offsets)
    history = _checked(histories, table, m)
    choice = _choosable(rows, m, exclude_indptr, exclude_items, allowed)
    index, scores = _no_lists(rows, n)
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
            _select(row, index[user], scores[user])
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
