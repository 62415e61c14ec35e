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
from functools import reduce
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from discreet.data.stored import StoredRatings
from discreet.engines.cluster import WorkerPlace, place_workers, share_blocks
from discreet.engines.disk import DiskEngine
from discreet.errors import DiscreetError, RatingsInvalid, SettingsInvalid, Unreachable
from discreet.kernels.threads import set_threads
from discreet.kernels.tiles import arithmetic
from discreet.methods.private_half import PrivateHalf
from discreet.methods.public.protocol import Progress
from discreet.methods.public.query import Query
from discreet.privacy.gaussian.totals import Total, add_totals
from discreet.version import __version__

__all__ = ["RayEngine", "Worker"]

FAN_IN = 4
"""Answers that are added at a time: a tree of sums, each as soon as its summands are there."""
RETRIES = 16
"""How often one query may cost a worker its life before the run ends."""
BEAT, PATIENCE = 5.0, 60.0
"""Seconds between two looks at the nodes, and how long there may be none to compute on."""

_NONE = "the cluster has no node with a processor to compute on; start one with ray start --address=HOST:PORT"


class RayEngine:
    """Users in processes of the cluster that this process is connected to (:meth:`Cluster.connect`).

    Parameters
    ----------
    private_half
        Of the method; importable on every node.
    ratings
        Private, prepared over a public catalogue, in a folder that every node sees under the same path.
    workers
        How many processes; ``None``: one for each processor of the cluster.
    progress
        Called with (stage, workers that have answered, workers), for the holder: the number of workers follows from
        that of the blocks, and is not public.
    """

    def __init__(
        self,
        private_half: type[PrivateHalf],
        ratings: StoredRatings,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._progress = progress
        with _in_words():
            if not (there := _processors()):
                raise Unreachable(_NONE)
            places = place_workers(there, workers)
            # Put once, catalogue included, and held here: a worker that is restarted fetches it again.
            self._ratings = ray.put(ratings)
            shares = share_blocks(ratings.block_sizes, len(places))
            self._workers = [
                _start(place, share, private_half) for place, share in zip(places, shares, strict=False)
            ]
            self._add = ray.remote(max_retries=RETRIES)(_together)

    def totals(self, query: Query[Any]) -> list[Total]:
        """Every user bounded, all added up."""
        with _in_words():
            asked = ray.put(query)
            # In a list Ray leaves a reference as it is: the ratings are fetched once.
            answers = [worker.totals.remote([self._ratings], asked) for worker in self._workers]
            sums = ray.get(self._sum(answers))
            # What comes from the object store alone is read-only.
            return _together(*sums) if len(sums) > 1 else copy.deepcopy(sums[0])

    def _sum(self, answers: Sequence[Any]) -> Sequence[Any]:
        """Add up what has come, wherever it is, until fewer than `FAN_IN` sums are left."""
        waiting, ready, done = set(answers), [], 0
        asked, seen = set(answers), time.monotonic()
        self._report(done)
        while waiting:
            come, _ = ray.wait(list(waiting), timeout=BEAT, fetch_local=False)
            seen = time.monotonic() if come or _processors() else seen
            if time.monotonic() - seen > PATIENCE:
                raise Unreachable(f"{_NONE}; the run goes on with --resume where it was kept")
            if not come:
                continue
            waiting.remove(come[0])
            ready.append(come[0])
            if come[0] in asked:
                done += 1
                self._report(done)
            if len(ready) == FAN_IN:
                waiting.add(self._add.remote(*ready))
                ready = []
        return ready

    def _report(self, done: int) -> None:
        if self._progress is not None:
            self._progress("adding up", done, len(self._workers))


def _start(place: WorkerPlace, share: Sequence[int], private_half: type[PrivateHalf]) -> Any:
    """A worker on a node, or on another if that one is gone. It takes a processor's place only while it starts."""
    where = NodeAffinitySchedulingStrategy(place.node, soft=True)
    options: dict[str, Any] = {"max_restarts": -1, "max_task_retries": RETRIES, "scheduling_strategy": where}
    actor = ray.remote(Worker).options(**options)
    return actor.remote(share, private_half, place.threads, __version__, arithmetic())


def _together(*answers: list[Total]) -> list[Total]:
    """The totals of disjoint sets of users, together; exact."""
    return reduce(add_totals, answers)


def _processors() -> dict[str, int]:
    """Of each node that has any."""
    nodes = {node["NodeID"]: node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]}
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
    :func:`~discreet.kernels.tiles.arithmetic`) are those of the process that started the run.

    **Privacy.** Which worker computes a user follows from everybody's blocks. Where nodes rounded differently, one user
    more would move others to another node, and so their contributions; nodes of another kind are refused. What
    it returns are exact sums before noise: for the process that holds the gate, and for nobody outside the cluster.
    """

    def __init__(
        self,
        numbers: Sequence[int],
        private_half: type[PrivateHalf],
        threads: int,
        version: str,
        rounding: tuple[str, ...],
    ) -> None:
        set_threads(threads)
        self._numbers, self._half, self._version, self._rounding = numbers, private_half, version, rounding
        self._engine: DiskEngine | None = None

    def totals(self, ratings: Sequence[Any], query: Query[Any]) -> list[Total]:
        """Every user of these blocks bounded, all added up.

        ``ratings`` refers to everybody's prepared ratings: in a list, which Ray leaves as it is, and fetched once.
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
            prepared: StoredRatings = ray.get(ratings[0])
            own = prepared.take_blocks(self._numbers)
            self._engine = DiskEngine(self._half, own)
        try:
            # Copied: what comes from the object store is read-only, for which kernels would be compiled once more.
            totals = self._engine.totals(copy.deepcopy(query))
        except RatingsInvalid as error:
            raise RatingsInvalid(
                f"on node {socket.gethostname()}: {error}. Every node must see the same blocks under the same path"
            ) from None
        return totals
