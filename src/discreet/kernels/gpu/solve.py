"""Ridge solves of all users: normal equations, a Cholesky factorisation and two substitutions, one program each."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from discreet.kernels.gpu.csr import Csr

__all__ = ["MOST_RANK", "solve_users"]

MOST_RANK = 128
"""A user's matrix stays in the registers of one program."""
ENTRIES = 32
"""Ratings of a user that are multiplied at once."""


def solve_users(
    csr: Csr,
    targets: torch.Tensor,
    factors: torch.Tensor,
    offset_penalty: float,
    factor_penalty: float,
    scales: torch.Tensor | None = None,
) -> torch.Tensor:
    """Every user's offset and vector, as `discreet.kernels.solve_rows` gives them, in float32.

    Parameters
    ----------
    csr, targets
        The entries of each user, and a float32 number for each.
    factors
        float32, items x rank, at most `MOST_RANK`.
    offset_penalty, factor_penalty
        Ridge on the offset and on the vector.
    scales
        float32, a factor of each user's penalties; 1 where absent.

    Returns
    -------
    float32, users x (1 + rank)
        Zeros where the matrix is not positive definite. A user's row depends on that user's entries alone, to the
        last bit.
    """
    rank = factors.shape[1]
    if rank > MOST_RANK:
        raise ValueError(f"on a GPU the rank is at most {MOST_RANK}, not {rank}")
    width = max(triton.next_power_of_2(max(rank, 1)), 16)
    out = torch.zeros((csr.n_users, 1 + rank), dtype=torch.float32, device=factors.device)
    if csr.n_users:
        _solve[(csr.n_users,)](
            csr.order,
            csr.indptr,
            csr.items,
            targets,
            torch.nn.functional.pad(factors, (0, width - rank)),
            targets if scales is None else scales,
            out,
            offset_penalty,
            factor_penalty,
            rank,
            WIDTH=width,
            ENTRIES=ENTRIES,
            SCALED=scales is not None,
            num_warps=min(width // 16, 8),
        )
    return out


@triton.jit
def _inverse_factor(matrix, WIDTH: tl.constexpr):
    """The inverse of the Cholesky factor of a matrix, and whether all pivots were above zero (NaN is not)."""
    rows = tl.arange(0, WIDTH)[:, None]
    columns = tl.arange(0, WIDTH)[None, :]
    inverse = tl.where(rows == columns, 1.0, 0.0) + tl.zeros((WIDTH, WIDTH), tl.float32)
    good = 1
    for c in range(WIDTH):
        column = tl.sum(tl.where(columns == c, matrix, 0.0), 1)
        row = tl.sum(tl.where(rows == c, matrix, 0.0), 0)
        pivot = tl.sum(tl.where(tl.arange(0, WIDTH) == c, column, 0.0), 0)
        fine = pivot > 0.0
        good = tl.where(fine, good, 0)
        scale = 1.0 / tl.sqrt(tl.where(fine, pivot, 1.0))
        column = column * scale
        row = row * scale
        known = tl.sum(tl.where(rows == c, inverse, 0.0), 0) * scale
        below = inverse - column[:, None] * known[None, :]
        inverse = tl.where(rows == c, known[None, :], tl.where(rows > c, below, inverse))
        rest = matrix - column[:, None] * row[None, :]
        matrix = tl.where((rows > c) & (columns > c), rest, matrix)
    return inverse, good


@triton.jit
def _solve(
    order,
    indptr,
    items,
    targets,
    factors,
    scales,
    out,
    offset_penalty,
    factor_penalty,
    rank,
    WIDTH: tl.constexpr,
    ENTRIES: tl.constexpr,
    SCALED: tl.constexpr,
):
    """One user: ``G = sum f f^T + penalty``, factored and solved.

    With the offset the matrix is ``[[n, g'], [g, G]]``. Eliminating its first row is the first step of a Cholesky
    factorisation, done here: G - g g' / n and b - g t / n are what is solved, and the offset is found afterwards.
    """
    user = tl.load(order + tl.program_id(0)).to(tl.int64)
    start = tl.load(indptr + user)
    stop = tl.load(indptr + user + 1)
    lanes = tl.arange(0, WIDTH)
    total = tl.zeros((WIDTH, WIDTH), tl.float32)
    pulled = tl.zeros((ENTRIES, WIDTH), tl.float32)
    summed = tl.zeros((ENTRIES, WIDTH), tl.float32)
    known = tl.zeros((ENTRIES,), tl.float32)
    for entry in range(start, stop, ENTRIES):
        at = entry + tl.arange(0, ENTRIES)
        inside = at < stop
        item = tl.load(items + at, mask=inside, other=0).to(tl.int64)
        target = tl.load(targets + at, mask=inside, other=0.0)
        left = tl.load(factors + item[:, None] * WIDTH + lanes[None, :], mask=inside[:, None], other=0.0)
        pulled += left * target[:, None]
        known += target
        summed += left
        total = tl.dot(tl.trans(left), left, total, input_precision="ieee")  # plain float32, as on the CPU
    scale = 1.0
    if SCALED:
        scale = tl.load(scales + user)
    # Ones on the diagonal of the padding keep the matrix positive definite.
    ridge = tl.where(lanes < rank, factor_penalty * scale, 1.0)
    total += tl.where(lanes[:, None] == lanes[None, :], ridge[:, None], 0.0)
    lead = (stop - start).to(tl.float32) + offset_penalty * scale
    taken = tl.sum(known, 0)
    down = tl.sum(summed, 0)
    above = tl.where(lead > 0.0, lead, 1.0)
    share = tl.where(lead > 0.0, down / above, 0.0)
    total -= share[:, None] * down[None, :]
    vector = tl.sum(pulled, 0) - share * taken
    inverse, good = _inverse_factor(total, WIDTH)
    half = tl.sum(inverse * vector[None, :], 1)
    solution = tl.sum(inverse * half[:, None], 0)
    good = tl.where(lead > 0.0, good, 0)
    offset = (taken - tl.sum(down * solution, 0)) / above
    target = out + user * (1 + rank)
    tl.store(target, tl.where(good == 1, offset, 0.0))
    tl.store(target + 1 + lanes, tl.where(good == 1, solution, 0.0), mask=lanes < rank)
