"""Streams that must have nothing in common: of threads, forked processes, copies and restarts.

Run as a module this file is a process that draws in all these ways and stores what it drew. Two such processes are a
program and its restart.
"""

from __future__ import annotations

import copy
import math
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
from scipy import fft, stats

from discreet.privacy.gaussian.noise import Noise
from discreet.privacy.gaussian.shares import ShareNoise
from discreet.privacy.local.rotated import Coin
from discreet.privacy.pure.noise import PureNoise, rate_at_most
from discreet.types import Floats
from tests.privacy.draws.tally import ALARM

SOURCES: dict[str, Callable[[], Any]] = {
    "normals": Noise,
    "shares": lambda: ShareNoise(3),
    "geometric": PureNoise,
    "words": PureNoise,
    "coins": Coin,
}
THREADS, FORKS, RUNS = 3, 3, 2
# Of some millions of numbers of 43 random bits or more one or two may be equal by chance; more than ten never are.
MOST_COMMON = 10


def draw(kind: str, source: Any, size: int) -> Floats:
    """Numbers of mean zero and, so that equal ones are no chance, of at least 43 random bits."""
    if kind == "normals":
        drawn: Floats = source.normals(size)
        return drawn
    if kind == "shares":
        whole: Floats = source.integers(np.full(size, 2.0**45))
        return whole
    if kind == "geometric":
        return np.asarray(source.two_sided(rate_at_most(2.0**-43), size), dtype=np.float64)
    return (source.words(size) >> np.uint64(11)).astype(np.float64) - 2.0**52


def family(kind: str, size: int, folder: Path) -> None:
    """All streams of one kind that one process and its children can draw."""
    make = SOURCES[kind]
    source = make()

    def keep(name: str, values: Floats) -> None:
        np.save(folder / f"{kind}, {name}.npy", values)

    keep("first", draw(kind, source, size))
    together = Barrier(2 * THREADS)

    def in_a_thread(own: Any) -> Floats:
        together.wait()
        return draw(kind, own, size)

    with ThreadPoolExecutor(2 * THREADS) as pool:
        sources = [source] * THREADS + [make() for _ in range(THREADS)]
        for number, values in enumerate(pool.map(in_a_thread, sources)):
            keep(f"thread {number}", values)
    keep("copy", draw(kind, copy.deepcopy(source), size))
    children = [
        _fork(lambda number=number: keep(f"fork {number}", draw(kind, source, size)))
        for number in range(FORKS)
    ]
    for child in children:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    keep("parent", draw(kind, source, size))


def _fork(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return child


def drawn(size: int, folder: Path) -> dict[str, dict[str, Floats]]:
    """By kind and by name, the streams of a program and of its restart."""
    found: dict[str, dict[str, Floats]] = {kind: {} for kind in SOURCES}
    for run in range(RUNS):
        place = folder / f"run {run}"
        place.mkdir()
        subprocess.run([sys.executable, "-m", __name__, str(place), str(size)], check=True, timeout=250)
        for path in sorted(place.iterdir()):
            kind, name = path.stem.split(", ")
            found[kind][f"run {run}, {name}"] = np.load(path)
    return found


@dataclass(frozen=True)
class Related:
    """What streams have in common.

    Attributes
    ----------
    common
        How many numbers came more than once, whatever their sign, stream and place.
    correlation, most
        The largest correlation of any two streams at any lag, and the largest there may be, in standard errors.
    """

    common: int
    correlation: float
    most: float

    @property
    def alarm(self) -> bool:
        return self.common > MOST_COMMON or not self.correlation < self.most


def related(streams: dict[str, Floats]) -> Related:
    """Compare every stream with every other."""
    size = len(next(iter(streams.values())))
    everything = np.abs(np.concatenate(list(streams.values())))
    turned = [fft.rfft(values / np.sqrt((values**2).sum())) for values in streams.values()]
    pairs = list(combinations(turned, 2))
    worst = max(float(np.abs(fft.irfft(one * other.conj(), size)).max()) for one, other in pairs)
    return Related(
        common=len(everything) - len(np.unique(everything)),
        correlation=worst * math.sqrt(size),
        most=float(stats.norm.isf(ALARM / 2.0 / (len(pairs) * size))),
    )


if __name__ == "__main__":
    for each in SOURCES:
        family(each, int(sys.argv[2]), Path(sys.argv[1]))
