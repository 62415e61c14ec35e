"""What runs on the nodes: a worker that answers for its blocks, from their files. Draws no noise, charges nothing."""

from __future__ import annotations

import copy
import socket
from collections.abc import Sequence
from typing import Any

import ray

from discreet.data.stored import StoredRatings
from discreet.engines.cluster.shards import Shard, split_totals
from discreet.engines.devices import Gpu
from discreet.engines.disk import DiskEngine
from discreet.errors import RatingsInvalid, SettingsInvalid
from discreet.kernels.registers import arithmetic
from discreet.kernels.threads import set_threads
from discreet.methods.private_half import PrivateHalf
from discreet.methods.query import Query
from discreet.version import __version__

__all__ = ["Worker"]


class Worker:
    """Some users, in a process of their own. It keeps nothing: another process with the same files can take its place.

    Parameters
    ----------
    numbers
        Of the blocks whose users are this worker's.
    private_half
        Of the method.
    threads
        To compute with.
    version, rounding
        Of this package, and :func:`~discreet.kernels.registers.arithmetic`, where the run was started.
    gpu
        How its users are computed on the GPU that it was given; on the CPU if left out.

    Notes
    -----
    **Privacy.** Which worker computes a user follows from everybody's blocks. Where nodes rounded differently, one user
    more would move others to another node, and so their contributions; nodes and GPUs of another kind are refused. What
    it returns are exact sums before noise: for the process that holds the gate, and for nobody outside the cluster.
    """

    def __init__(
        self,
        numbers: Sequence[int],
        private_half: type[PrivateHalf],
        threads: int,
        version: str,
        rounding: tuple[str, ...],
        gpu: Gpu | None = None,
    ) -> None:
        set_threads(threads)
        self._gpu = gpu
        self._numbers, self._half, self._version, self._rounding = numbers, private_half, version, rounding
        self._engine: DiskEngine | None = None

    def card(self) -> tuple[str, ...]:
        """What its GPU is; the node's lack of one is said in words."""
        assert self._gpu is not None
        try:
            return self._gpu.kind()
        except SettingsInvalid as error:
            raise SettingsInvalid(f"on node {socket.gethostname()}: {error}") from None

    def totals(
        self,
        ratings: Sequence[Any],
        query: Query[Any],
        shards: int,
        card: tuple[str, ...] | None = None,
    ) -> Shard | tuple[Shard, ...]:
        """Every user of these blocks bounded, all added up, cut into shards.

        Parameters
        ----------
        ratings
            A reference to everybody's prepared ratings: in a list, which Ray leaves as it is. Fetched once.
        query
            What is asked.
        shards
            How many to cut the totals into.
        card
            What the GPUs of all workers are; ``None`` where they have none.
        """
        if __version__ != self._version:
            raise SettingsInvalid(
                f"node {socket.gethostname()} has discreet {__version__}, the run was started with {self._version}; "
                "install the same version on every node"
            )
        here = arithmetic()
        if here != self._rounding:
            raise SettingsInvalid(
                f"node {socket.gethostname()} rounds in its own way ({here[0]}, {here[1]}; the run was started on "
                f"{self._rounding[0]}, {self._rounding[1]}): who computes a user depends on everybody's ratings, so "
                "all nodes must be of one kind. Use nodes with the same processor and the same versions"
            )
        if self._engine is None:
            if self._gpu is not None and (mine := self.card()) != card:
                raise SettingsInvalid(
                    f"node {socket.gethostname()} has another kind of GPU ({', '.join(mine)}) than the run was started "
                    f"with ({', '.join(card or ())}); use nodes with the same card and the same versions"
                )
            prepared: StoredRatings = ray.get(ratings[0])
            own = prepared.take_blocks(self._numbers)
            self._engine = DiskEngine(self._half, own, None if self._gpu is None else self._gpu.engine)
        try:
            # Copied: what comes from the object store is read-only, for which kernels would be compiled once more.
            totals = self._engine.totals(copy.deepcopy(query))
        except RatingsInvalid as error:
            raise RatingsInvalid(
                f"on node {socket.gethostname()}: {error}. Every node must see the same blocks under the same path"
            ) from None
        cut = split_totals(totals, shards)
        return cut[0] if shards == 1 else tuple(cut)
