"""All users on one GPU, or in blocks that pass through it. Needs the extra ``gpu``.

Sums are exact, and a user's integers depend on that user alone (``privacy/gaussian/proofs/gpu.md``), so it does not
matter how users are cut into blocks. A solve may be rounded differently than on the CPU: the model can differ from
:class:`discreet.engines.memory.MemoryEngine`'s in a few grid steps of some users, the promise does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch

from discreet.data.ratings import Ratings
from discreet.engines.device_memory import cut
from discreet.methods.query import Query
from discreet.privacy.gaussian.blocks import Block
from discreet.privacy.gaussian.totals import Total, exact_totals

__all__ = ["GpuEngine", "GpuHalf"]

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
        self._half, self._ratings, self._device = half, ratings, device
        self._memory = SHARE * torch.cuda.mem_get_info(device)[0] if memory is None else memory
        self._resident: GpuHalf | None = None

    def totals(self, query: Query[Any], onto: Sequence[Total] | None = None) -> list[Total]:
        """Every user bounded, all added up; to totals of other users in place, where there are any."""
        blocks = cut(self._ratings.indptr, _order(query), self._memory)
        if len(blocks) == 1:
            if self._resident is None:
                self._resident = self._half(self._ratings, self._device)
            return exact_totals(self._resident.contributions(query), onto)
        self._resident = None
        totals = None if onto is None else list(onto)
        for block in blocks:
            users = self._half(self._ratings.take_users(block), self._device)
            totals = exact_totals(users.contributions(query), totals)
        assert totals is not None
        return totals


def _order(query: Query[Any]) -> int:
    side = getattr(query, "side", None)
    return 1 if side is None else 1 + int(side.rank)
