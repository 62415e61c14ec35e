"""All users on one GPU, or in blocks that pass through it. Needs the extra ``gpu``.

Sums are exact, and a user's integers depend on that user alone (``privacy/gaussian/proofs/gpu.md``), so it does not
matter how users are cut into blocks. A solve may be rounded differently than on the CPU: the model can differ from
:class:`discreet.engines.memory.MemoryEngine`'s in a few grid steps of some users, the promise does not.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discreet.data.ratings import Ratings
from discreet.data.stored import StoredRatings
from discreet.engines.disk import DiskEngine
from discreet.engines.memory import check_sample
from discreet.errors import SettingsInvalid
from discreet.methods.private_half import PrivateHalf
from discreet.methods.public.protocol import Engine, Progress
from discreet.methods.public.query import Query
from discreet.privacy.gaussian.blocks import MOST_USERS, Block
from discreet.privacy.gaussian.totals import Total, exact_totals
from discreet.types import Indices

if TYPE_CHECKING:
    import torch

__all__ = [
    "MOST_RATINGS",
    "PER_ENTRY",
    "PER_RATING",
    "GpuEngine",
    "GpuHalf",
    "check_device",
    "cut",
    "place_of",
]

PER_RATING = 96
"""Bytes on the device for each rating: by user, by item, residual, target, and what sorting them takes."""
PER_ENTRY = 64
"""Bytes for each entry of a user's feature vector."""
MOST_RATINGS = 2**31 - 1
"""Positions of ratings are 32-bit numbers there."""
SHARE = 0.6
"""Of the device's free memory, for the ratings and what is computed from them."""


class GpuHalf(Protocol):
    """A private half whose blocks are on a device."""

    def __init__(self, ratings: Ratings, device: torch.device) -> None: ...

    def contributions(self, query: Query[Any]) -> Sequence[Block]:
        """Integer contributions of these users, in the order in which they are released."""
        ...


class GpuEngine:
    """Exact totals over all users, computed on a device.

    Parameters
    ----------
    half
        Of the method.
    ratings
        Private, over a public catalogue.
    device
        Of torch.
    memory
        Bytes of the device to use; a share of what is free by default.
    """

    def __init__(
        self, half: type[GpuHalf], ratings: Ratings, device: torch.device, memory: float | None = None
    ) -> None:
        import torch

        self._half, self._ratings, self._device = half, ratings, device
        self._memory = SHARE * torch.cuda.mem_get_info(device)[0] if memory is None else memory
        self._resident: GpuHalf | None = None

    def totals(self, query: Query[Any], onto: Sequence[Total] | None = None) -> list[Total]:
        """Every user bounded, all added up; to totals of other users in place, where there are any."""
        side = getattr(query, "side", None)
        blocks = cut(self._ratings.indptr, 1 if side is None else 1 + int(side.rank), self._memory)
        if len(blocks) == 1:
            if self._resident is None:
                self._resident = self._half(self._ratings, self._device)
            return exact_totals(self._checked(self._resident, self._ratings, query), onto)
        self._resident = None
        totals = None if onto is None else list(onto)
        for block in blocks:
            some = self._ratings.take_users(block)
            totals = exact_totals(self._checked(self._half(some, self._device), some, query), totals)
        assert totals is not None
        return totals

    def _checked(self, users: GpuHalf, ratings: Ratings, query: Query[Any]) -> Sequence[Block]:
        """Their contributions, those of a random sample computed again among themselves."""
        blocks = users.contributions(query)
        check_sample(query, blocks, ratings, lambda few: self._half(few, self._device).contributions(query))
        return blocks


def cut(indptr: Indices, order: int, memory: float) -> list[slice]:
    """Blocks of users that fit into so many bytes: as few as there can be, each of at least one user.

    ``order`` is the number of entries of a user's feature vector.
    """
    n = len(indptr) - 1
    ends, blocks, first = np.asarray(indptr, np.int64), [], 0
    need = ends * float(PER_RATING) + np.arange(n + 1) * float(PER_ENTRY * order)
    while first < n:
        stop = int(np.searchsorted(need, need[first] + memory, side="right")) - 1
        stop = min(stop, int(np.searchsorted(ends, ends[first] + MOST_RATINGS, side="right")) - 1)
        stop = min(stop, first + MOST_USERS)
        blocks.append(slice(first, max(stop, first + 1)))
        first = blocks[-1].stop
    return blocks or [slice(0, 0)]


def place_of(
    private_half: type[PrivateHalf], gpu_half: str | None, method: str, device: str
) -> Callable[[Ratings | StoredRatings, Progress | None], Engine]:
    """What makes the engine of users in memory, or of one block from the disk after another; the device is checked."""
    check_device(device, method, gpu_half)
    assert gpu_half is not None
    room, _, name = gpu_half.partition(":")

    def engine(ratings: Ratings) -> GpuEngine:
        import torch

        return GpuEngine(getattr(importlib.import_module(room), name), ratings, torch.device(device))

    def engine_of(ratings: Ratings | StoredRatings, progress: Progress | None = None) -> Engine:
        return engine(ratings) if isinstance(ratings, Ratings) else DiskEngine(private_half, ratings, engine)

    return engine_of


def check_device(device: str, method: str, gpu_half: str | None) -> None:
    """Refuse a device that is not there, or that a method has no kernels for. Reads nothing private."""
    if device == "cpu":
        return
    kind, _, number = device.partition(":")
    if kind != "cuda" or (number and not number.isdecimal()):
        raise SettingsInvalid(
            f"there is no device {device!r}; use cpu, cuda, or cuda:0 for the first of several"
        )
    if gpu_half is None:
        raise SettingsInvalid(
            f"the method {method} has no GPU kernels; leave out the device {device}, or use budgeted"
        )
    if missing := [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]:
        raise SettingsInvalid(
            f"the device {device} needs {' and '.join(missing)}: install them with pip install 'discreet[gpu]'"
        )
    import torch

    if not torch.cuda.is_available():
        raise SettingsInvalid(
            f"the device {device} was asked for, and torch {torch.__version__} finds no GPU"
        )
    if int(number or 0) >= torch.cuda.device_count():
        raise SettingsInvalid(f"there is no device {device}: torch finds {torch.cuda.device_count()} GPU(s)")
