"""Normal equations of each user's ridge regression, the user's own offset eliminated."""

from __future__ import annotations

import triton
import triton.language as tl

__all__ = ["normal_equations"]


# `first` says where in the batch a user stands: the compiler must not make other code of it.
@triton.jit(do_not_specialize=["first"])
def normal_equations(
    order,
    indptr,
    items,
    targets,
    factors,
    scales,
    tile_rows,
    tile_columns,
    matrices,
    vectors,
    leads,
    first,
    offset_penalty,
    factor_penalty,
    rank,
    WIDTH: tl.constexpr,
    TILE: tl.constexpr,
    ENTRIES: tl.constexpr,
    SCALED: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """One tile of one user's matrix ``G = sum f f^T + penalty`` and, on the diagonal, of the vector.

    With the offset the matrix is ``[[n, g'], [g, G]]``. Eliminating its first row is the first step of a Cholesky
    factorisation, done here: G - g g' / n and b - g t / n are kept, and g, n and t to find the offset afterwards.
    """
    place = tl.program_id(0)
    row_tile = tl.load(tile_rows + tl.program_id(1))
    column_tile = tl.load(tile_columns + tl.program_id(1))
    user = tl.load(order + first + place).to(tl.int64)
    start = tl.load(indptr + user)
    stop = tl.load(indptr + user + 1)
    lanes = tl.arange(0, TILE)
    rows = row_tile * TILE + lanes
    columns = column_tile * TILE + lanes
    total = tl.zeros((TILE, TILE), tl.float32)
    pulled = tl.zeros((ENTRIES, TILE), tl.float32)
    summed = tl.zeros((ENTRIES, TILE), tl.float32)
    across = tl.zeros((ENTRIES, TILE), tl.float32)
    known = tl.zeros((ENTRIES,), tl.float32)
    for entry in range(start, stop, ENTRIES):
        at = entry + tl.arange(0, ENTRIES)
        inside = at < stop
        item = tl.load(items + at, mask=inside, other=0).to(tl.int64)
        target = tl.load(targets + at, mask=inside, other=0.0)
        left = tl.load(factors + item[:, None] * WIDTH + rows[None, :], mask=inside[:, None], other=0.0)
        pulled += left * target[:, None]
        known += target
        summed += left
        if TILE == WIDTH:
            right = left
        else:
            right = tl.load(
                factors + item[:, None] * WIDTH + columns[None, :], mask=inside[:, None], other=0.0
            )
            across += right
        total = tl.dot(tl.trans(left), right, total, input_precision=PRECISION)
    vector = tl.sum(pulled, 0)
    scale = 1.0
    if SCALED:
        scale = tl.load(scales + user)
    # Ones on the diagonal of the padding keep the matrix positive definite.
    ridge = tl.where(rows < rank, factor_penalty * scale, 1.0)
    total += tl.where(rows[:, None] == columns[None, :], ridge[:, None], 0.0)
    lead = (stop - start).to(tl.float32) + offset_penalty * scale
    taken = tl.sum(known, 0)
    down = tl.sum(summed, 0)
    share = tl.where(lead > 0.0, down / tl.where(lead > 0.0, lead, 1.0), 0.0)
    beside = down
    if TILE != WIDTH:
        beside = tl.sum(across, 0)
    total -= share[:, None] * beside[None, :]
    vector -= share * taken
    if row_tile == column_tile:
        tl.store(leads + place * (WIDTH + 2) + 2 + rows, down)
        tl.store(leads + place * (WIDTH + 2), lead)
        tl.store(leads + place * (WIDTH + 2) + 1, taken)
    base = matrices + place.to(tl.int64) * WIDTH * WIDTH
    tl.store(base + rows[:, None] * WIDTH + columns[None, :], total)
    if row_tile == column_tile:
        tl.store(vectors + place * WIDTH + rows, vector)
