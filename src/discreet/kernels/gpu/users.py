"""What is computed of each user's own entries or row: one program for one user.

Ridge solves are in float32 (normal equations, a Cholesky factorisation, two substitutions), all else in float64.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from discreet.kernels.gpu.csr import Csr

__all__ = ["MOST_RANK", "solve_users", "square_norms", "transform_users", "user_residuals", "user_sums"]

MOST_RANK = 128
"""A user's matrix stays in the registers of one program."""
GATHERED = 32
"""Ratings of a user that are multiplied at once."""
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
            ENTRIES=GATHERED,
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
