"""What forks on request need: ratings that survive a fork, and waiting for a child."""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet import Ratings
from discreet.catalogue import Catalogue

__all__ = ["Columns", "wait"]


def wait(pid: int, seconds: float) -> int | None:
    """Exit code of a forked process, minus the signal's number if one ended it; ``None`` while it runs."""
    until = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= until:
            return None
        time.sleep(0.005)


class Columns(NamedTuple):
    """Ratings without anything of polars in it: its threads do not survive a fork."""

    indptr: npt.NDArray[np.int64]
    items: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]
    user_ids: npt.NDArray[np.int64]
    catalogue: list[Any]
    rating_range: tuple[float, float] | None

    def ratings(self) -> Ratings:
        return Ratings(*self[:4], Catalogue(self.catalogue), self.rating_range)
