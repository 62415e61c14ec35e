"""Public rows on a device: products, moments and shrinking with the bits of the CPU's kernels.

float64 arithmetic is IEEE on both. A product here is one chain of fused multiply-adds in the order of the columns (or
of the rows), cut where the CPU cuts it; every other operation is rounded by itself, as in the CPU's exact kernels.
Compilers may fuse neither more nor less: `tl.fma` where the CPU fuses, ``enable_fp_fusion=False`` for the rest.

Whether it holds on a machine is tried before it is used (`discreet.kernels.gpu.placed`): without fused operations on
the host's processor it does not.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from discreet.kernels.moments import ROWS as STRETCH
from discreet.kernels.moments import part_size

__all__ = ["shrink_rows", "transform_rows", "weighted_moment"]

ROWS = 64
COLUMNS = 32
"""Of a tile that one program works out."""
SUMMED = 1024
"""Entries of a matrix whose parts one program adds up."""


def transform_rows(
    rows: torch.Tensor,
    matrix: torch.Tensor,
    scale: torch.Tensor | None = None,
    plus: torch.Tensor | None = None,
) -> torch.Tensor:
    """``plus + scale * (rows @ matrix.T)``; see `discreet.kernels.transform_rows`. float64 in and out."""
    return _product(rows.T.contiguous(), matrix.T.contiguous(), scale, plus).contiguous()


def weighted_moment(rows: torch.Tensor, roots: torch.Tensor) -> torch.Tensor:
    """Sum over rows of ``root^2 row row^T``; see `discreet.kernels.weighted_moment`, which takes the roots itself."""
    n, d = rows.shape
    out = torch.zeros((d, d), dtype=torch.float64, device=rows.device)
    if out.numel() == 0 or n == 0:
        return out
    size = part_size(n)
    count, tiles = -(-n // size), -(-d // COLUMNS)
    parts = torch.empty((count, d, d), dtype=torch.float64, device=rows.device)
    _moments[(count, tiles, tiles)](
        rows.contiguous(),
        roots,
        parts,
        n,
        d,
        size,
        STRETCH=STRETCH,
        TILE=COLUMNS,
        num_warps=4,
        enable_fp_fusion=False,
    )
    _in_order[(-(-d * d // SUMMED),)](
        parts, out, count, d * d, SUMMED=SUMMED, num_warps=4, enable_fp_fusion=False
    )
    return out


def shrink_rows(
    rows: torch.Tensor,
    basis: torch.Tensor,
    values: torch.Tensor,
    square: torch.Tensor,
    variance: torch.Tensor,
    told: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows shrunk in a basis, and the sum of what is left of each row's variance.

    As `discreet.kernels.shrink_rows`, but for the last division, of the sum by the number of columns: torch multiplies
    by a reciprocal where the divisor is one number.
    """
    n, d = rows.shape
    lost = torch.zeros(n, dtype=torch.float64, device=rows.device)
    if rows.numel() == 0:
        return torch.zeros_like(rows), lost
    turned = _product(rows.T.contiguous(), basis.contiguous(), None, None).T
    _shrink[(-(-n // ROWS),)](
        turned,
        turned if told is None else told.T.contiguous(),
        values,
        square,
        variance,
        lost,
        n,
        d,
        ROWS=ROWS,
        TOLD=told is not None,
        num_warps=2,
        enable_fp_fusion=False,
    )
    return _product(turned, basis.T.contiguous(), None, None).contiguous(), lost


def _product(
    turned: torch.Tensor, columns: torch.Tensor, scale: torch.Tensor | None, plus: torch.Tensor | None
) -> torch.Tensor:
    """``plus + scale * (turned.T @ columns)``, laid out column by column: neighbours read neighbouring rows."""
    (d, n), width = turned.shape, columns.shape[1]
    out = torch.zeros((width, n), dtype=torch.float64, device=turned.device)
    if out.numel():
        _transform[(-(-n // ROWS), -(-width // COLUMNS))](
            turned,
            columns,
            turned if scale is None else scale,
            turned if plus is None else plus.T.contiguous(),
            out,
            n,
            d,
            width,
            ROWS=ROWS,
            COLUMNS=COLUMNS,
            SCALED=scale is not None,
            ADDED=plus is not None,
            num_warps=4,
            enable_fp_fusion=False,
        )
    return out.T


@triton.jit
def _transform(
    turned,
    columns,
    scale,
    plus,
    out,
    n,
    d,
    width,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    SCALED: tl.constexpr,
    ADDED: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((COLUMNS, ROWS), tl.float64)
    for c in range(d):
        left = tl.load(turned + c * n + row, mask=row < n, other=0.0)
        right = tl.load(columns + c * width + column, mask=column < width, other=0.0)
        total = tl.fma(
            tl.broadcast_to(right[:, None], (COLUMNS, ROWS)),
            tl.broadcast_to(left[None, :], (COLUMNS, ROWS)),
            total,
        )
    mask = (column < width)[:, None] & (row < n)[None, :]
    place = column[:, None] * n + row[None, :]
    if SCALED:
        total = total * tl.load(scale + row, mask=row < n, other=0.0)[None, :]
    if ADDED:
        total = total + tl.load(plus + place, mask=mask, other=0.0)
    tl.store(out + place, total, mask=mask)


@triton.jit
def _moments(rows, roots, parts, n, d, size, STRETCH: tl.constexpr, TILE: tl.constexpr):
    """One tile of one part's sum: stretches of rows, each summed from zero, are added up."""
    part = tl.program_id(0)
    down = tl.program_id(1) * TILE + tl.arange(0, TILE)
    across = tl.program_id(2) * TILE + tl.arange(0, TILE)
    end = tl.minimum((part + 1) * size, n)
    total = tl.zeros((TILE, TILE), tl.float64)
    for start in range(part * size, end, STRETCH):
        some = tl.zeros((TILE, TILE), tl.float64)
        for j in range(start, tl.minimum(start + STRETCH, end)):
            root = tl.load(roots + j)
            left = tl.load(rows + j * d + down, mask=down < d, other=0.0) * root
            right = tl.load(rows + j * d + across, mask=across < d, other=0.0) * root
            some = tl.fma(
                tl.broadcast_to(left[:, None], (TILE, TILE)),
                tl.broadcast_to(right[None, :], (TILE, TILE)),
                some,
            )
        total = total + some
    mask = (down < d)[:, None] & (across < d)[None, :]
    tl.store(parts + part * d * d + down[:, None] * d + across[None, :], total, mask=mask)


@triton.jit
def _in_order(parts, out, count, size, SUMMED: tl.constexpr):
    place = tl.program_id(0) * SUMMED + tl.arange(0, SUMMED)
    total = tl.zeros((SUMMED,), tl.float64)
    for part in range(count):
        total = total + tl.load(parts + part * size + place, mask=place < size, other=0.0)
    tl.store(out + place, total, mask=place < size)


@triton.jit
def _shrink(turned, told, values, square, variance, lost, n, d, ROWS: tl.constexpr, TOLD: tl.constexpr):
    """In place, column by column; see `discreet.kernels.shrink_rows`."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = row < n
    size = tl.load(square + row, mask=inside, other=0.0)
    noise = tl.load(variance + row, mask=inside, other=0.0)
    remains = tl.zeros((ROWS,), tl.float64)
    for c in range(d):
        value = tl.load(values + c)
        entry = tl.load(turned + c * n + row, mask=inside, other=0.0)
        signal = size * value
        total = signal + noise
        gain = tl.where(total > 0.0, signal / tl.where(total > 0.0, total, 1.0), 0.0)
        guess = tl.zeros((ROWS,), tl.float64)
        if TOLD:
            guess = tl.load(told + c * n + row, mask=inside, other=0.0)
        tl.store(turned + c * n + row, guess + gain * (entry - guess), mask=inside)
        remains = remains + (1.0 - gain) * value
    tl.store(lost + row, remains, mask=inside)
