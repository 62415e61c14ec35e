"""Ridge solves of all users: normal equations, a Cholesky factorisation by blocks, two substitutions."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from discreet.kernels.gpu.csr import Csr
from discreet.kernels.gpu.normal import normal_equations

__all__ = ["solve_users"]

SCRATCH = 2**30
"""Bytes of matrices that are worked on at once."""
LARGEST_TILE = 128
ENTRIES = 32
"""Ratings of a user that are multiplied at once."""
PRECISION = "ieee"
"""Plain float32, as on the CPU; three short products on the tensor cores (``"tf32x3"``) took longer."""


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
        float32, items x rank.
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
    n, (_, rank), device = csr.n_users, factors.shape, factors.device
    tile = min(max(triton.next_power_of_2(max(rank, 1)), 16), LARGEST_TILE)
    width = -(-max(rank, 1) // tile) * tile
    tiles = width // tile
    out = torch.zeros((n, 1 + rank), dtype=torch.float32, device=device)
    if n == 0:
        return out
    padded = _pad(factors, (len(factors), width))
    lower = [(row, column) for row in range(tiles) for column in range(row + 1)]
    tile_rows = torch.tensor([row for row, _ in lower], dtype=torch.int32, device=device)
    tile_columns = torch.tensor([column for _, column in lower], dtype=torch.int32, device=device)
    chunk = max(SCRATCH // (4 * width * width), 1)
    matrices = torch.empty((min(chunk, n), width, width), dtype=torch.float32, device=device)
    vectors = torch.empty((min(chunk, n), width), dtype=torch.float32, device=device)
    leads = torch.empty((min(chunk, n), width + 2), dtype=torch.float32, device=device)
    block = 16 if width <= 32 else 32
    for first in range(0, n, chunk):
        users = min(chunk, n - first)
        normal_equations[(users, len(lower))](
            csr.order,
            csr.indptr,
            csr.items,
            targets,
            padded,
            padded if scales is None else scales,
            tile_rows,
            tile_columns,
            matrices,
            vectors,
            leads,
            first,
            offset_penalty,
            factor_penalty,
            rank,
            WIDTH=width,
            TILE=tile,
            ENTRIES=ENTRIES,
            SCALED=scales is not None,
            PRECISION=PRECISION,
            num_warps=max(min(tile // 16, 8), 1),
        )
        _solve[(users,)](
            csr.order,
            matrices,
            vectors,
            leads,
            out,
            first,
            rank,
            WIDTH=width,
            LANES=triton.next_power_of_2(width),
            BLOCK=block,
            num_warps=1,
        )
    return out


def _pad(values: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """Zeros beyond the end of every dimension."""
    out = torch.zeros(shape, dtype=torch.float32, device=values.device)
    out[tuple(slice(0, size) for size in values.shape)] = values
    return out


@triton.jit
def _inverse_factor(matrix, BLOCK: tl.constexpr):
    """The inverse of the Cholesky factor of one block, and its smallest pivot (NaN counts as none)."""
    rows = tl.arange(0, BLOCK)[:, None]
    columns = tl.arange(0, BLOCK)[None, :]
    inverse = tl.where(rows == columns, 1.0, 0.0) + tl.zeros((BLOCK, BLOCK), tl.float32)
    good = 1
    for c in range(BLOCK):
        column = tl.sum(tl.where(columns == c, matrix, 0.0), 1)
        row = tl.sum(tl.where(rows == c, matrix, 0.0), 0)
        pivot = tl.sum(tl.where(tl.arange(0, BLOCK) == c, column, 0.0), 0)
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


@triton.jit(do_not_specialize=["first"])
def _solve(
    order,
    matrices,
    vectors,
    leads,
    out,
    first,
    rank,
    WIDTH: tl.constexpr,
    LANES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Factor one user's matrix in place (inverses of the factor's diagonal blocks on the diagonal) and solve."""
    place = tl.program_id(0).to(tl.int64)
    user = tl.load(order + first + place).to(tl.int64)
    base = matrices + place * WIDTH * WIDTH
    vector = vectors + place * WIDTH
    lanes = tl.arange(0, BLOCK)
    tile = lanes[:, None] * WIDTH + lanes[None, :]
    turned = lanes[None, :] * WIDTH + lanes[:, None]
    blocks: tl.constexpr = WIDTH // BLOCK
    good = 1
    for k in range(blocks):
        corner = base + k * BLOCK * (WIDTH + 1)
        matrix = tl.load(corner + tile)
        for j in range(k):
            left = tl.load(base + k * BLOCK * WIDTH + j * BLOCK + tile)
            right = tl.load(base + k * BLOCK * WIDTH + j * BLOCK + turned)
            matrix -= tl.dot(left, right, input_precision="ieee")
        inverse, fine = _inverse_factor(matrix, BLOCK)
        good = good * fine
        tl.store(corner + tile, inverse)
        inverted = tl.trans(inverse)
        for i in range(k + 1, blocks):
            place_of = base + i * BLOCK * WIDTH + k * BLOCK + tile
            matrix = tl.load(place_of)
            for j in range(k):
                left = tl.load(base + i * BLOCK * WIDTH + j * BLOCK + tile)
                right = tl.load(base + k * BLOCK * WIDTH + j * BLOCK + turned)
                matrix -= tl.dot(left, right, input_precision="ieee")
            tl.store(place_of, tl.dot(matrix, inverted, input_precision="ieee"))
        tl.debug_barrier()
    # Forwards: y = L^-1 b, then backwards: x = L^-T y, each over b.
    for k in range(blocks):
        part = tl.load(vector + k * BLOCK + lanes)
        for j in range(k):
            left = tl.load(base + k * BLOCK * WIDTH + j * BLOCK + tile)
            part -= tl.sum(left * tl.load(vector + j * BLOCK + lanes)[None, :], 1)
        # Turned, so that the sum runs along the other axis and ends where the part lives.
        inverse = tl.load(base + k * BLOCK * (WIDTH + 1) + turned)
        tl.store(vector + k * BLOCK + lanes, tl.sum(inverse * part[:, None], 0))
        tl.debug_barrier()
    for step in range(blocks):
        k = blocks - 1 - step
        part = tl.load(vector + k * BLOCK + lanes)
        for i in range(k + 1, blocks):
            left = tl.load(base + i * BLOCK * WIDTH + k * BLOCK + turned)
            part -= tl.sum(left * tl.load(vector + i * BLOCK + lanes)[None, :], 1)
        inverse = tl.load(base + k * BLOCK * (WIDTH + 1) + tile)
        tl.store(vector + k * BLOCK + lanes, tl.sum(inverse * part[:, None], 0))
        tl.debug_barrier()
    all_lanes = tl.arange(0, LANES)
    solution = tl.load(vector + all_lanes, mask=all_lanes < WIDTH, other=0.0)
    lead = tl.load(leads + place * (WIDTH + 2))
    taken = tl.load(leads + place * (WIDTH + 2) + 1)
    beside = tl.load(leads + place * (WIDTH + 2) + 2 + all_lanes, mask=all_lanes < WIDTH, other=0.0)
    good = tl.where(lead > 0.0, good, 0)
    offset = (taken - tl.sum(beside * solution, 0)) / tl.where(lead > 0.0, lead, 1.0)
    target = out + user * (1 + rank)
    tl.store(target, tl.where(good == 1, offset, 0.0))
    tl.store(target + 1 + all_lanes, tl.where(good == 1, solution, 0.0), mask=all_lanes < rank)
