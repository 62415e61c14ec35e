"""Arrays in, arrays out: the heavy arithmetic, with no I/O and no privacy in it.

Compiled; `tests/kernels/reference.py` has the same functions in plain NumPy. What prototypes, pure
mechanisms and devices alone need (`distances`, `geometric`, `devices`) is imported from its file.
"""

from discreet.kernels.draws import draw_rejecting, draw_uniform
from discreet.kernels.entries import (
    above_offsets,
    dot_pairs,
    lowest_entries,
    residuals,
    square_norms,
    transform_rows,
    truncated,
)
from discreet.kernels.items import (
    co_moment,
    item_moments,
    item_sums,
    item_weights,
    one_blas_thread,
    pair_place,
    solve_items,
    user_moment,
)
from discreet.kernels.ranking import Table, table_scores, table_top, top_n
from discreet.kernels.rows import solve_rows
from discreet.kernels.sums import add_pairs, amount_sums, row_squares, row_sums, transpose
from discreet.kernels.threads import by_rows, get_threads, set_threads, threads

__all__ = [
    "Table",
    "above_offsets",
    "add_pairs",
    "amount_sums",
    "by_rows",
    "co_moment",
    "dot_pairs",
    "draw_rejecting",
    "draw_uniform",
    "get_threads",
    "item_moments",
    "item_sums",
    "item_weights",
    "lowest_entries",
    "one_blas_thread",
    "pair_place",
    "residuals",
    "row_squares",
    "row_sums",
    "set_threads",
    "solve_items",
    "solve_rows",
    "square_norms",
    "table_scores",
    "table_top",
    "threads",
    "top_n",
    "transform_rows",
    "transpose",
    "truncated",
    "user_moment",
]
