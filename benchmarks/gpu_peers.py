"""Beside a private round on a GPU: implicit's solver there, and ranking for everybody. Part of `benchmarks.gpu`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import torch

from benchmarks.gpu_kernels import DEVICE
from discreet import Ratings, kernels
from discreet.kernels import gpu

LISTED = 10


def implicit_ms(world: Ratings, rank: int) -> float | str:
    """An iteration of implicit's own GPU solver (both half steps), or why there is none."""
    try:
        from implicit.gpu.als import AlternatingLeastSquares
    except Exception as error:  # a library that does not load fails in many ways
        return f"{type(error).__name__}: {error}"
    shape = world.n_users, world.n_items
    matrix = scipy.sparse.csr_matrix(
        (np.ones(world.n_ratings, np.float32), world.items, world.indptr.astype(np.int32)), shape
    )

    def seconds(iterations: int) -> float:
        model = AlternatingLeastSquares(factors=rank, iterations=iterations, random_state=0)
        begin = time.perf_counter()
        model.fit(matrix, show_progress=False)
        torch.cuda.synchronize()
        return time.perf_counter() - begin

    try:
        seconds(1)
        return 1e3 * statistics.median((seconds(11) - seconds(1)) / 10 for _ in range(3))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def ranking(world: Ratings, rank: int) -> dict[str, Any]:
    """The ten best items of every user, without those they rated: seconds on the device and on the CPU's threads."""
    rng = np.random.default_rng(4)
    given = (
        rng.standard_normal((world.n_users, rank)),
        rng.standard_normal((world.n_items, rank)),
        rng.standard_normal(world.n_items),
        LISTED,
        world.indptr,
        world.items,
    )
    there, here = gpu.top_n(*given, device=DEVICE), kernels.top_n(*given)
    return {
        "gpu_s": _median(lambda: gpu.top_n(*given, device=DEVICE)),
        "cpu_s": _median(lambda: kernels.top_n(*given)),
        "other_places": int((there[0] != here[0]).sum()),
        "places": int(here[0].size),
        "largest_difference": float(np.nanmax(np.abs(there[1] - here[1]))),
    }


def _median(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)
