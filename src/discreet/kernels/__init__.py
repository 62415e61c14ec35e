"""Arrays in, arrays out: the heavy arithmetic, with no I/O and no privacy in it."""

from contextlib import contextmanager

from discreet.kernels.reference import (
    dot_pairs,
    item_moments,
    item_sums,
    item_weights,
    residuals,
    solve_items,
    solve_rows,
    top_n,
    transpose,
    user_moment,
)


def set_threads(k):
    pass


@contextmanager
def threads(k):
    yield


__all__ = [
    "dot_pairs",
    "item_moments",
    "item_sums",
    "item_weights",
    "residuals",
    "set_threads",
    "solve_items",
    "solve_rows",
    "threads",
    "top_n",
    "transpose",
    "user_moment",
]
