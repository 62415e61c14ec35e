"""Rows one by one: a small matrix applied to each user's vector, and lengths, in float64."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

__all__ = ["square_norms", "transform_users"]

ROWS = 16
"""Rows of the matrix that are multiplied at once."""


def transform_users(vectors: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """``matrix @ (1, vector)`` for every row: users x rank -> users x order, each row from itself alone.

    Parameters
    ----------
    vectors
        float64, users x rank.
    matrix
        float64, order x (1 + rank).
    """
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
            ROWS=ROWS,
            num_warps=4 if lanes > 32 else 1,
        )
    return out


def square_norms(rows: torch.Tensor) -> torch.Tensor:
    """Squared length of every row of a float64 matrix, each from itself alone."""
    n, width = rows.shape
    out = torch.zeros(n, dtype=torch.float64, device=rows.device)
    if n and width:
        _square_norms[(n,)](rows, out, width, LANES=triton.next_power_of_2(width), num_warps=1)
    return out


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


@triton.jit
def _square_norms(rows, out, width, LANES: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, LANES)
    values = tl.load(rows + row * width + lanes, mask=lanes < width, other=0.0)
    tl.store(out + row, tl.sum(values * values, 0))
