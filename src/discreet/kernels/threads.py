"""How many threads the kernels use, and how rows are dealt out to them.

Kernels run outside the interpreter lock, so plain Python threads are all that is needed: no threading layer to
choose, nothing that breaks when several callers compute at once or when the process forks. Each thread takes the
next few rows from one shared counter until none are left, so a thread that is slowed down simply takes fewer.
A row is computed by one thread alone: no result depends on how many there are.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

__all__ = ["by_rows", "claim", "get_threads", "set_threads", "share", "threads"]

SMALL_WORK = 500_000
"""Multiplications below which starting a thread costs more than it saves."""


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
    wanted = 1 if multiplications < SMALL_WORK else min(get_threads(), rows)
    counter = np.zeros(1, np.int64)
    grain = min(max(rows // (256 * max(wanted, 1)), 1), 64)
    failures: list[BaseException] = []

    def part() -> None:
        try:
            work(counter, grain, *args)
        except BaseException as error:
            failures.append(error)

    helpers = [threading.Thread(target=part, daemon=True) for _ in range(wanted - 1)]
    for helper in helpers:
        helper.start()
    part()
    for helper in helpers:
        helper.join()
    if failures:
        raise failures[0]


def by_rows(work: Callable[[slice], object], rows: int, least: int = 2048) -> None:
    """Run ``work`` on slices of rows, in threads: for array operations in which no row knows of another.

    NumPy works outside the interpreter lock; its results are the same however the rows are cut.
    """
    parts = max(min(get_threads(), rows // least), 1)
    cuts = [rows * part // parts for part in range(parts + 1)]
    slices = [slice(start, stop) for start, stop in pairwise(cuts)]
    if parts == 1:
        work(slices[0])
        return
    with ThreadPoolExecutor(parts) as pool:
        list(pool.map(work, slices))


@intrinsic
def claim(typing_context: Any, counter: Any, amount: Any) -> Any:
    """Atomically take the next `amount` rows of a shared counter; gives the first of them."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.atomic_rmw("add", array.data, args[1], "monotonic")

    return types.intp(counter, types.intp), emit
