"""Exact totals on a Ray cluster. Every engine gives the same bits: sums are integers, in whatever order they come.

Ray restarts workers that are lost, on another node if theirs is gone, and asks them again; a sum that is lost with its
node is computed again from the files. A worker's answer is counted once however often it was computed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from discreet.data.stored import StoredRatings
from discreet.engines.cluster.partitions import Place, place_workers, share_blocks
from discreet.engines.cluster.shards import SHARD_BYTES, add_shards, count_shards, join_shards
from discreet.engines.cluster.worker import Worker
from discreet.engines.devices import Gpu
from discreet.errors import DiscreetError, SettingsInvalid, Unreachable
from discreet.kernels.registers import arithmetic
from discreet.methods.private_half import PrivateHalf
from discreet.methods.protocol import Progress
from discreet.methods.query import Query
from discreet.privacy.gaussian.totals import Total
from discreet.version import __version__

__all__ = ["RayEngine"]

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
