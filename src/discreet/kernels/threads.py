"""How many threads the kernels use, and how rows are dealt out to them.

Kernels run outside the interpreter lock, so plain Python threads are all that is needed: no threading layer to
choose, nothing that breaks when several callers compute at once or when the process forks. Each thread takes the
next few rows from one shared counter until none are left, so a thread that is slowed down simply takes fewer.
A row is computed by one thread alone: no result depends on how many there are.

Helpers are kept between calls, as starting sixteen of them takes longer than many a kernel. The caller always works
too, and when its own part is over it never waits for a helper that is busy elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

__all__ = ["by_rows", "claim", "get_threads", "set_threads", "share", "threads"]

SMALL_WORK = 500_000
"""Multiplications for which it is worth to wake one more thread."""


def _available() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_default = _available()
_chosen: ContextVar[int | None] = ContextVar("discreet_threads", default=None)


def _checked(k: int) -> int:
    if k < 1:
        raise ValueError(f"the number of threads must be at least 1, not {k}")
    return int(k)


def set_threads(k: int) -> None:
    """Use `k` threads from now on, in the whole process; at the start it is the number of usable cores."""
    global _default
    _default = _checked(k)


def get_threads() -> int:
    """Threads a kernel called here and now would use."""
    return _chosen.get() or _default


@contextmanager
def threads(k: int) -> Iterator[None]:
    """Use `k` threads inside the ``with`` block, in this context only."""
    token = _chosen.set(_checked(k))
    try:
        yield
    finally:
        _chosen.reset(token)


def share(work: Callable[..., Any], rows: int, multiplications: float, *args: Any) -> None:
    """Run ``work(counter, grain, *args)`` in as many threads as the work is worth.

    `work` must take rows with `claim` until it is given one past the end.
    """
    wanted = min(get_threads(), rows, 1 + int(multiplications / SMALL_WORK))
    counter = np.zeros(1, np.int64)
    grain = min(max(rows // (256 * max(wanted, 1)), 1), 64)
    _together(lambda: work(counter, grain, *args), wanted - 1)


def by_rows(work: Callable[[slice], object], rows: int, least: int = 2048) -> None:
    """Run ``work`` on slices of rows, in threads: for array operations in which no row knows of another.

    NumPy works outside the interpreter lock; its results are the same however the rows are cut.
    """
    parts = max(min(get_threads(), rows // least), 1)
    cuts = [rows * part // parts for part in range(parts + 1)]
    slices = iter([slice(start, stop) for start, stop in pairwise(cuts)])

    def part() -> None:
        for rows_of in slices:  # one step of a list's iterator is atomic: every slice is taken once
            work(rows_of)

    _together(part, parts - 1)


def _together(work: Callable[[], object], others: int) -> None:
    """Do it here, and in as many helpers as come before it is over."""
    helping = []
    try:
        for _ in range(others):
            helping.append(_pool().submit(work))
    except RuntimeError:  # the interpreter shuts down, or no more threads are to be had
        pass
    try:
        work()
    finally:
        # From now on nobody begins; those who have are waited for.
        begun = [helper for helper in helping if not helper.cancel()]
        wait(begun)
    for helper in begun:
        helper.result()


@cache
def _pool() -> ThreadPoolExecutor:
    """Of all callers together: enough to try, on a small machine, what a large one does."""
    return ThreadPoolExecutor(max(_available(), 16), thread_name_prefix="discreet")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child has the pool, and none of its threads


@intrinsic
def claim(typing_context: Any, counter: Any, amount: Any) -> Any:
    """Atomically take the next `amount` rows of a shared counter; gives the first of them."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.atomic_rmw("add", array.data, args[1], "monotonic")

    return types.intp(counter, types.intp), emit
