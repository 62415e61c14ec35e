"""What is computed of each user's own entries or row, in float64: one program for one user."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from discreet.kernels.gpu.csr import Csr

__all__ = ["square_norms", "transform_users", "user_residuals", "user_sums"]

ENTRIES = 16
"""Ratings whose factors are read at once, or rows of a matrix."""
SUMMED = 128
"""Numbers that are added at once where no factors are read."""


def user_residuals(
    csr: Csr,
    targets: torch.Tensor,
    offsets: torch.Tensor,
    vectors: torch.Tensor | None,
    factors: torch.Tensor,
) -> torch.Tensor:
    """``targets - offset_i - vector_i . factor_j`` for every entry.

    Parameters
    ----------
    csr, targets
        The entries of each user, and a float64 number for each.
    offsets, vectors
        float64, users and users x rank; ``None``: no vectors.
    factors
        float64, items x rank.
    """
    left, rank = targets - offsets[csr.owners], factors.shape[1]
    if vectors is None or not csr.n_users or not rank:
        return left
    lanes = triton.next_power_of_2(rank)
    found = torch.empty_like(left)
    _residuals[(csr.n_users,)](
        csr.order,
        csr.indptr,
        csr.items,
        left,
        vectors,
        factors,
        found,
        rank,
        LANES=lanes,
        ENTRIES=ENTRIES,
        num_warps=4 if lanes > 32 else 1,
    )
    return found


def user_sums(csr: Csr, values: torch.Tensor) -> torch.Tensor:
    """Sum over each user's entries of float64 numbers, one for each entry."""
    return _row_sums(csr.order, csr.indptr, values)


def square_norms(rows: torch.Tensor) -> torch.Tensor:
    """Squared length of every row of a float64 matrix, each from itself alone."""
    n, width = rows.shape
    places = torch.arange(n + 1, device=rows.device)
    return _row_sums(places[:-1].to(torch.int32), places * width, (rows * rows).reshape(-1))


def transform_users(vectors: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """``matrix @ (1, vector)`` for every row in float64: users x rank -> users x order, each row from itself alone."""
    n, rank = vectors.shape
    order = len(matrix)
    out = torch.empty((n, order), dtype=torch.float64, device=vectors.device)
    if n:
        lanes = triton.next_power_of_2(max(rank, 1))
        _transform[(n,)](
            vectors,
            matrix.contiguous(),
            out,
            rank,
            order,
            LANES=lanes,
            ROWS=ENTRIES,
            num_warps=4 if lanes > 32 else 1,
        )
    return out


def _row_sums(order: torch.Tensor, starts: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    out = torch.zeros(len(order), dtype=torch.float64, device=values.device)
    if len(order):
        _sums[(len(order),)](order, starts, values, out, ENTRIES=SUMMED, num_warps=1)
    return out


@triton.jit
def _residuals(
    order, indptr, items, left, vectors, factors, found, rank, LANES: tl.constexpr, ENTRIES: tl.constexpr
):
    user = tl.load(order + tl.program_id(0)).to(tl.int64)
    start = tl.load(indptr + user)
    stop = tl.load(indptr + user + 1)
    lanes = tl.arange(0, LANES)
    vector = tl.load(vectors + user * rank + lanes, mask=lanes < rank, other=0.0)
    for entry in range(start, stop, ENTRIES):
        at = entry + tl.arange(0, ENTRIES)
        inside = at < stop
        item = tl.load(items + at, mask=inside, other=0).to(tl.int64)
        mask = inside[:, None] & (lanes < rank)[None, :]
        shown = tl.load(factors + item[:, None] * rank + lanes[None, :], mask=mask, other=0.0)
        rest = tl.load(left + at, mask=inside, other=0.0) - tl.sum(shown * vector[None, :], 1)
        tl.store(found + at, rest, mask=inside)


@triton.jit
def _sums(order, starts, values, out, ENTRIES: tl.constexpr):
    row = tl.load(order + tl.program_id(0)).to(tl.int64)
    start = tl.load(starts + row)
    stop = tl.load(starts + row + 1)
    total = tl.zeros((ENTRIES,), tl.float64)
    for entry in range(start, stop, ENTRIES):
        at = entry + tl.arange(0, ENTRIES)
        total += tl.load(values + at, mask=at < stop, other=0.0)
    tl.store(out + row, tl.sum(total, 0))


@triton.jit
def _transform(vectors, matrix, out, rank, order, LANES: tl.constexpr, ROWS: tl.constexpr):
    user = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, LANES)
    vector = tl.load(vectors + user * rank + lanes, mask=lanes < rank, other=0.0)
    for first in range(0, order, ROWS):
        rows = first + tl.arange(0, ROWS)
        place = matrix + rows * (1 + rank)
        inside = rows < order
        constant = tl.load(place, mask=inside, other=0.0)
        mask = inside[:, None] & (lanes < rank)[None, :]
        part = tl.load(place[:, None] + 1 + lanes[None, :], mask=mask, other=0.0)
        tl.store(out + user * order + rows, constant + tl.sum(part * vector[None, :], 1), mask=inside)
