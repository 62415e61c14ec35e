"""What a user's coefficients leave of each rating, and sums over each user's own ratings, in float64."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from discreet.kernels.gpu.csr import Csr

__all__ = ["pair_targets", "user_residuals", "weighted_squares"]

ENTRIES = 16
"""Ratings whose factors are read at once."""
SUMMED = 128
"""Ratings that are added at once where no factors are read."""


def user_residuals(
    csr: Csr,
    targets: torch.Tensor,
    offsets: torch.Tensor,
    vectors: torch.Tensor | None,
    factors: torch.Tensor,
    item_weights: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """``targets - offset_i - vector_i . factor_j`` for every entry, and sums over each user's entries.

    Parameters
    ----------
    csr, targets
        The entries of each user, and a float64 number for each.
    offsets, vectors
        float64, users and users x rank; ``None``: no vectors.
    factors
        float64, items x rank.
    item_weights
        c, float64, one for each item.

    Returns
    -------
    residuals, sums
        One number for each entry; and for each user the sums of ``e^2``, ``(c e)^2`` and ``c^2``, users x 3.
    """
    n, rank = csr.n_users, factors.shape[1]
    residuals = torch.empty_like(targets)
    sums = torch.zeros((n, 3), dtype=torch.float64, device=targets.device)
    if n:
        lanes = triton.next_power_of_2(max(rank, 1))
        _residuals[(n,)](
            csr.order,
            csr.indptr,
            csr.items,
            targets,
            offsets,
            targets if vectors is None else vectors,
            factors,
            item_weights,
            residuals,
            sums,
            rank,
            LANES=lanes,
            ENTRIES=ENTRIES,
            VECTORS=vectors is not None and rank > 0,
            num_warps=4 if lanes > 32 else 1,
        )
    return residuals, sums


def pair_targets(
    csr: Csr, residuals: torch.Tensor, per_user: torch.Tensor, used: torch.Tensor
) -> torch.Tensor:
    """``residual * per_user`` truncated toward zero, int16, one for each entry; zeros for users not ``used``."""
    out = torch.empty(residuals.shape, dtype=torch.int16, device=residuals.device)
    if csr.n_users:
        _targets[(csr.n_users,)](
            csr.order, csr.indptr, residuals, per_user, used.to(torch.int8), out, ENTRIES=SUMMED, num_warps=1
        )
    return out


def weighted_squares(csr: Csr, values: torch.Tensor | None, scales: torch.Tensor) -> torch.Tensor:
    """Sum of ``(value * scale_j)^2`` over each user's entries: int16 values (or ones), float64 scales of the items."""
    out = torch.zeros(csr.n_users, dtype=torch.float64, device=scales.device)
    if csr.n_users:
        _weighted_squares[(csr.n_users,)](
            csr.order,
            csr.indptr,
            csr.items,
            csr.items if values is None else values,
            scales,
            out,
            ENTRIES=SUMMED,
            VALUES=values is not None,
            num_warps=1,
        )
    return out


@triton.jit
def _residuals(
    order,
    indptr,
    items,
    targets,
    offsets,
    vectors,
    factors,
    item_weights,
    residuals,
    sums,
    rank,
    LANES: tl.constexpr,
    ENTRIES: tl.constexpr,
    VECTORS: tl.constexpr,
):
    user = tl.load(order + tl.program_id(0)).to(tl.int64)
    start = tl.load(indptr + user)
    stop = tl.load(indptr + user + 1)
    lanes = tl.arange(0, LANES)
    offset = tl.load(offsets + user)
    squares = tl.zeros((ENTRIES,), tl.float64)
    weighted = tl.zeros((ENTRIES,), tl.float64)
    weights = tl.zeros((ENTRIES,), tl.float64)
    if VECTORS:
        vector = tl.load(vectors + user * rank + lanes, mask=lanes < rank, other=0.0)
    for entry in range(start, stop, ENTRIES):
        at = entry + tl.arange(0, ENTRIES)
        inside = at < stop
        item = tl.load(items + at, mask=inside, other=0).to(tl.int64)
        left = tl.load(targets + at, mask=inside, other=0.0) - offset
        if VECTORS:
            mask = inside[:, None] & (lanes < rank)[None, :]
            shown = tl.load(factors + item[:, None] * rank + lanes[None, :], mask=mask, other=0.0)
            left -= tl.sum(shown * vector[None, :], 1)
        tl.store(residuals + at, left, mask=inside)
        left = tl.where(inside, left, 0.0)
        weight = tl.load(item_weights + item, mask=inside, other=0.0)
        squares += left * left
        weighted += (weight * left) * (weight * left)
        weights += weight * weight
    tl.store(sums + user * 3, tl.sum(squares, 0))
    tl.store(sums + user * 3 + 1, tl.sum(weighted, 0))
    tl.store(sums + user * 3 + 2, tl.sum(weights, 0))


@triton.jit
def _targets(order, indptr, residuals, per_user, used, out, ENTRIES: tl.constexpr):
    user = tl.load(order + tl.program_id(0)).to(tl.int64)
    start = tl.load(indptr + user)
    stop = tl.load(indptr + user + 1)
    scale = tl.load(per_user + user)
    takes_part = tl.load(used + user) != 0
    for entry in range(start, stop, ENTRIES):
        at = entry + tl.arange(0, ENTRIES)
        value = tl.load(residuals + at, mask=at < stop, other=0.0)
        # The conversion truncates toward zero.
        whole = (tl.where(takes_part, value, 0.0) * scale).to(tl.int32)
        tl.store(out + at, whole.to(tl.int16), mask=at < stop)


@triton.jit
def _weighted_squares(order, indptr, items, values, scales, out, ENTRIES: tl.constexpr, VALUES: tl.constexpr):
    user = tl.load(order + tl.program_id(0)).to(tl.int64)
    start = tl.load(indptr + user)
    stop = tl.load(indptr + user + 1)
    total = tl.zeros((ENTRIES,), tl.float64)
    for entry in range(start, stop, ENTRIES):
        at = entry + tl.arange(0, ENTRIES)
        inside = at < stop
        item = tl.load(items + at, mask=inside, other=0).to(tl.int64)
        part = tl.load(scales + item, mask=inside, other=0.0)
        if VALUES:
            part *= tl.load(values + at, mask=inside, other=0).to(tl.float64)
        total += part * part
    tl.store(out + user, tl.sum(total, 0))
