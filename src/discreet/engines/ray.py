"""Exact totals on a Ray cluster. Every engine gives the same bits: sums are integers, in whatever order they come.

Ray restarts workers that are lost, on another node if theirs is gone, and asks them again; a sum that is lost with its
node is computed again from the files. A worker's answer is counted once however often it was computed.
"""

from __future__ import annotations

import copy
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from discreet.data.stored import StoredRatings
from discreet.engines.cluster import (
    SHARD_BYTES,
    Place,
    Shard,
    add_shards,
    count_shards,
    join_shards,
    place_workers,
    share_blocks,
    split_totals,
)
from discreet.engines.disk import DiskEngine
from discreet.engines.gpu import Gpu
from discreet.errors import DiscreetError, RatingsInvalid, SettingsInvalid, Unreachable
from discreet.kernels.registers import arithmetic
from discreet.kernels.threads import set_threads
from discreet.methods.private_half import PrivateHalf
from discreet.methods.protocol import Progress
from discreet.methods.query import Query
from discreet.privacy.gaussian.totals import Total
from discreet.version import __version__

__all__ = ["RayEngine", "Worker"]

FAN_IN = 4
"""Answers that are added at a time: a tree of sums, each as soon as its summands are there."""
RETRIES = 16
"""How often one query may cost a worker its life before the run ends."""
BEAT, PATIENCE = 5.0, 60.0
"""Seconds between two looks at the nodes, and how long there may be none to compute on."""
GPU_PATIENCE = 300.0
"""Seconds for every worker to have its GPU: others may hold them, and torch takes a while to start."""

_NONE = {
    "CPU": "the cluster has no node with a processor to compute on; start one with ray start --address=HOST:PORT",
    "GPU": "no node of the cluster has a GPU; leave out the device, or start nodes that have (ray start --num-gpus=N)",
}

_Shards = list[Any]
"""References to all shards of one answer."""


class RayEngine:
    """Users in processes of the cluster that this process is connected to (:meth:`Cluster.connect`).

    Parameters
    ----------
    private_half
        Of the method; importable on every node.
    ratings
        Private, prepared over a public catalogue, in a folder that every node sees under the same path.
    workers
        How many processes; ``None``: one for each processor of the cluster, or for each GPU, which are the most then.
    progress
        Called with (stage, workers that have answered, workers), for the holder: the number of workers follows from
        that of the blocks, and is not public.
    shard_bytes
        How much of the totals a process adds up at a time, for each summand.
    gpu
        How users are computed on GPUs, one for each worker; on the CPU if left out.
    """

    def __init__(
        self,
        private_half: type[PrivateHalf],
        ratings: StoredRatings,
        workers: int | None = None,
        progress: Progress | None = None,
        shard_bytes: int = SHARD_BYTES,
        gpu: Gpu | None = None,
    ) -> None:
        self._progress, self._shard_bytes = progress, shard_bytes
        self._needed = "CPU" if gpu is None else "GPU"
        with _in_words():
            places = _places(workers, gpu)
            # Put once, catalogue included, and held here: a worker that is restarted fetches it again.
            self._ratings = ray.put(ratings)
            shares = share_blocks(ratings.block_sizes, len(places))
            self._workers = [
                _start(place, share, private_half, gpu) for place, share in zip(places, shares, strict=False)
            ]
            self._card = None if gpu is None else _same_card(self._workers)
            self._add = ray.remote(max_retries=RETRIES)(add_shards)

    def totals(self, query: Query[Any]) -> list[Total]:
        """Every user bounded, all added up."""
        with _in_words():
            asked, count = ray.put(query), count_shards(query, self._shard_bytes)
            answers = [_ask(worker, self._ratings, asked, count, self._card) for worker in self._workers]
            left = self._sum(answers)
            return join_shards([add_shards(*ray.get(list(parts))) for parts in zip(*left, strict=True)])

    def _sum(self, answers: Sequence[_Shards]) -> Sequence[_Shards]:
        """Add up what has come, wherever it is, until fewer than `FAN_IN` sums are left."""
        waiting, ready, done = {shards[0]: shards for shards in answers}, [], 0
        asked, seen = set(waiting), time.monotonic()
        self._report(done)
        while waiting:
            come, _ = ray.wait(list(waiting), timeout=BEAT, fetch_local=False)
            seen = time.monotonic() if come or _there_are(self._needed) else seen
            if time.monotonic() - seen > PATIENCE:
                raise Unreachable(f"{_NONE[self._needed]}; the run goes on with --resume where it was kept")
            if not come:
                continue
            ready.append(waiting.pop(come[0]))
            if come[0] in asked:
                done += 1
                self._report(done)
            if len(ready) == FAN_IN:
                added = [self._add.remote(*parts) for parts in zip(*ready, strict=True)]
                waiting[added[0]], ready = added, []
        return ready

    def _report(self, done: int) -> None:
        if self._progress is not None:
            self._progress("adding up", done, len(self._workers))


def _places(workers: int | None, gpu: Gpu | None) -> list[Place]:
    """Where workers start: by processors, or by GPUs, of which no two workers share one."""
    needed = "CPU" if gpu is None else "GPU"
    if not (there := _there_are(needed)):
        raise Unreachable(_NONE[needed])
    cards = sum(there.values())
    return place_workers(there, workers if gpu is None else min(workers or cards, cards))


def _start(place: Place, share: Sequence[int], private_half: type[PrivateHalf], gpu: Gpu | None) -> Any:
    """A worker on a node, or on another if that one is gone. It takes a processor's place only while it starts."""
    where = NodeAffinitySchedulingStrategy(place.node, soft=True)
    options: dict[str, Any] = {"max_restarts": -1, "max_task_retries": RETRIES, "scheduling_strategy": where}
    if gpu is not None:
        options |= {"num_gpus": 1, "num_cpus": 0}
    actor = ray.remote(Worker).options(**options)
    return actor.remote(share, private_half, place.threads, __version__, arithmetic(), gpu)


def _same_card(workers: Sequence[Any]) -> tuple[str, ...]:
    """What all GPUs are; refused where they differ (see `Worker`)."""
    try:
        told = ray.get([worker.card.remote() for worker in workers], timeout=GPU_PATIENCE)
    except GetTimeoutError:
        raise Unreachable(
            f"GPUs of the cluster were not free within {GPU_PATIENCE:.0f} s; wait until others have done with them, or "
            "ask for fewer (--workers). Nothing was charged"
        ) from None
    cards: list[tuple[str, ...]] = sorted(set(told))
    if len(cards) > 1:
        raise SettingsInvalid(
            f"the cluster's GPUs are of several kinds ({'; '.join(', '.join(card) for card in cards)}): who computes a "
            "user depends on everybody's ratings, so all must be of one kind. Use nodes with the same card and the "
            "same versions"
        )
    return cards[0]


def _ask(worker: Any, ratings: Any, asked: Any, count: int, card: tuple[str, ...] | None) -> _Shards:
    shards = worker.totals.options(num_returns=count).remote([ratings], asked, count, card)
    return [shards] if count == 1 else list(shards)


def _there_are(what: str) -> dict[str, int]:
    """Processors (``"CPU"``) or GPUs of each node that has any."""
    nodes = {node["NodeID"]: node["Resources"].get(what, 0) for node in ray.nodes() if node["Alive"]}
    return {node: int(count) for node, count in sorted(nodes.items()) if count >= 1}


@contextmanager
def _in_words() -> Iterator[None]:
    """Ray's errors as errors of this package."""
    try:
        yield
    except RayTaskError as error:
        cause: BaseException = error
        while isinstance(cause, RayTaskError):
            cause = cause.cause
        if isinstance(cause, DiscreetError):
            raise type(cause)(str(cause)) from None
        raise Unreachable(f"a worker failed: {type(cause).__name__}: {cause}") from error
    except RayError as error:
        reason = str(error).strip().splitlines()[-1][:300]
        raise Unreachable(
            f"the cluster could not answer ({type(error).__name__}: {reason}). Nothing was charged for this query; "
            "a run with a checkpoint goes on with --resume"
        ) from None


class Worker:
    """Some users, in a process of their own. It keeps nothing: another process with the same files can take its place.

    ``numbers`` are those of the blocks whose users are this worker's; ``version`` and ``rounding`` (see
    :func:`~discreet.kernels.registers.arithmetic`) are those of the process that started the run.

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

        ``ratings`` refers to everybody's prepared ratings: in a list, which Ray leaves as it is, and fetched once.
        ``card`` is what the GPUs of all workers are.
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
