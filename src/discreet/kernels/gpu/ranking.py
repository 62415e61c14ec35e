"""The best items of every row on a GPU, by the rules of `discreet.kernels.top_n`."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from discreet.kernels.checks import check_rows, check_shapes
from discreet.kernels.gpu.transfer import download, upload
from discreet.types import Array, Bools, Floats, Indices

__all__ = ["top_n"]

SCORES = 2**28
"""Scores that are on the device at once."""


def top_n(
    coefficients: Array,
    factors: Array,
    offsets: Array,
    n: int,
    exclude_indptr: Indices | None = None,
    exclude_items: Indices | None = None,
    allowed: Bools | None = None,
    *,
    device: torch.device | str,
) -> tuple[NDArray[np.int32], Floats]:
    """The `n` items with the highest ``coefficients[i] . factors[j] + offsets[j]``, as `discreet.kernels.top_n`.

    Scores are float64 and may differ from the CPU's in the last bit, as a library adds their products up: items whose
    scores differ by no more may come in another order. Equal scores stand by rising index here too. Nothing is
    released by a ranking, so nothing about privacy depends on it.
    """
    if (exclude_indptr is None) != (exclude_items is None):
        raise ValueError("exclude_indptr and exclude_items go together")
    rows, (m, d) = len(coefficients), factors.shape
    if exclude_indptr is None or exclude_items is None:
        exclude_indptr, exclude_items = np.zeros(rows + 1, np.int64), np.zeros(0, np.int32)
    check_rows(exclude_indptr, exclude_items, m)
    check_shapes(
        coefficients=(coefficients, (rows, d)),
        offsets=(offsets, (m,)),
        exclude_indptr=(exclude_indptr, (rows + 1,)),
        allowed=(allowed, (m,)),
    )
    index = np.full((rows, n), -1, np.int32)
    scores = np.full((rows, n), np.nan)
    if not (index.size and m):
        return index, scores
    device = torch.device(device)
    vectors = upload(np.asarray(coefficients, np.float64), device)
    columns = upload(np.asarray(factors, np.float64), device).T
    base = upload(np.asarray(offsets, np.float64), device)
    if allowed is not None:
        base = base.masked_fill(~torch.as_tensor(np.asarray(allowed, bool)).to(device), -torch.inf)
    indptr = torch.as_tensor(np.asarray(exclude_indptr, np.int64)).to(device)
    items = torch.as_tensor(np.asarray(exclude_items, np.int32)).to(device)
    kept = min(n, m)
    found = torch.empty((rows, kept), dtype=torch.int32, device=device)
    worth = torch.empty((rows, kept), dtype=torch.float64, device=device)
    step = max(SCORES // m, 1)
    for first in range(0, rows, step):
        stop = min(first + step, rows)
        board = torch.addmm(base, vectors[first:stop], columns)
        start, end = int(indptr[first]), int(indptr[stop])
        row = torch.repeat_interleave(
            torch.arange(stop - first, device=device), torch.diff(indptr[first : stop + 1])
        )
        board[row, items[start:end].long()] = -torch.inf
        # An item without a number for a score is never given.
        board.masked_fill_(torch.isnan(board), -torch.inf)
        worth[first:stop], best = _best(board, kept)
        found[first:stop] = best.to(torch.int32)
    gone = worth == -torch.inf
    index[:, :kept] = download(found.masked_fill(gone, -1))
    scores[:, :kept] = download(worth.masked_fill(gone, torch.nan))
    return index, scores


def _best(board: torch.Tensor, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The n largest of each row, best first, equal ones by rising index: a library may take any of equal ones."""
    worth, index = torch.topk(board, n, dim=1)
    last = worth[:, -1:]
    equal = (board == last).sum(1) > (worth == last).sum(1)
    for row in torch.nonzero(equal & (last[:, 0] > -torch.inf))[:, 0].tolist():
        values, places = torch.sort(board[row], descending=True, stable=True)
        worth[row], index[row] = values[:n], places[:n]
    index, order = torch.sort(index, dim=1, stable=True)
    worth = torch.gather(worth, 1, order)
    worth, order = torch.sort(worth, dim=1, descending=True, stable=True)
    return worth, torch.gather(index, 1, order)
