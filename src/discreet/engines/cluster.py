"""Users on a Ray cluster (extra ``ray``): one that is there, or one of this machine's own while a run lasts."""

from __future__ import annotations

import heapq
import importlib.util
import logging
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from discreet.data.ratings import Ratings
from discreet.data.stored import StoredRatings
from discreet.errors import SettingsInvalid, Unreachable
from discreet.methods.private_half import PrivateHalf
from discreet.methods.public.protocol import Engine, Progress

__all__ = ["Cluster", "WorkerPlace", "place_of", "place_workers", "share_blocks"]

_DIAL = 5.0
# What Ray calls the clusters that this process has joined, by the addresses that were given.
_NAMES: dict[str, str] = {}


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster to train on (extra ``ray``).

    Parameters
    ----------
    address
        ``HOST:PORT`` of its head, as in ``ray start --address``; this machine must be one of its nodes. ``None``: a
        cluster of this machine's processors, started for the run and gone with it.
    workers
        How many processes answer; ``None``: one for each processor of the cluster.
    object_store_bytes
        Memory for what a cluster of this machine's own passes around; ``None``: Ray's choice.

    Notes
    -----
    **Privacy.** The nodes read ratings, and exact sums before noise travel between them: the cluster belongs to the
    trusted server. Noise is drawn, and charges are made, in this process alone.
    """

    address: str | None = None
    workers: int | None = None
    object_store_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise SettingsInvalid(f"the number of workers must be at least 1, not {self.workers}")
        if self.address is not None and not _is_address(self.address):
            raise SettingsInvalid(
                f"{self.address!r} is no address of a cluster; give HOST:PORT of its head, from a machine that is one "
                "of its nodes"
            )

    @contextmanager
    def connect(self) -> Iterator[None]:
        """Be connected; where this process is already, that is what is used, and stays.

        Raises
        ------
        SettingsInvalid
            Where Ray is missing, or of another version than the cluster's.
        Unreachable
            Where nobody answers at the address.
        """
        if importlib.util.find_spec("ray") is None:
            raise SettingsInvalid(
                "the engine ray needs Ray: install it with pip install 'discreet[ray]', on every node"
            )
        import ray

        if ray.is_initialized():
            self._check_same(ray.get_runtime_context().gcs_address)
            yield
        elif self.address is not None:
            with _joined(self.address):
                yield
        else:
            with _started(self.workers, self.object_store_bytes):
                yield

    def _check_same(self, connected: str) -> None:
        if self.address is not None and _resolved(self.address) != _resolved(connected):
            raise SettingsInvalid(
                f"this process is connected to the cluster at {connected} already, not to {self.address}"
            )


def place_of(
    private_half: type[PrivateHalf],
    engine: Cluster | str,
    device: str,
    ratings: Ratings | StoredRatings,
) -> tuple[Callable[[Any, Progress | None], Engine], Callable[[], AbstractContextManager[None]]]:
    """What makes the engine on a cluster (``"ray"``: of this machine's own), and what connects to it."""
    cluster = Cluster() if engine == "ray" else engine
    if not isinstance(cluster, Cluster):
        raise SettingsInvalid(
            f"there is no engine {engine!r}; leave it out, or give 'ray' or a discreet.engines.cluster.Cluster"
        )
    if not isinstance(ratings, StoredRatings):
        raise SettingsInvalid(
            "the engine ray reads ratings from blocks; prepare them with discreet.data.prepare"
        )
    if device != "cpu":
        raise SettingsInvalid(f"workers of a cluster compute on the CPU; leave out the device {device}")

    def engine_of(ratings: StoredRatings, progress: Progress | None = None) -> Engine:
        from discreet.engines.ray import RayEngine

        return RayEngine(private_half, ratings, cluster.workers, progress)

    return engine_of, cluster.connect


def _is_address(address: str) -> bool:
    host, _, port = address.rpartition(":")
    return bool(host) and "/" not in host and port.isdecimal() and 0 < int(port) < 65_536


def _resolved(address: str) -> str:
    host, _, port = _NAMES.get(address, address).rpartition(":")
    try:
        return f"{socket.gethostbyname(host)}:{port}"
    except OSError:
        return address


@contextmanager
def _joined(address: str) -> Iterator[None]:
    import ray

    host, _, port = address.rpartition(":")
    try:
        # Ray would try for minutes.
        socket.create_connection((host, int(port)), timeout=_DIAL).close()
    except OSError as error:
        raise Unreachable(
            f"no cluster answers at {address} ({error}); is its head running there (ray start --head --port={port})?"
        ) from None
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (RuntimeError, ConnectionError, ValueError, OSError) as error:
        ray.shutdown()
        raise _refused(address, error) from None
    try:
        _NAMES[address] = ray.get_runtime_context().gcs_address
        yield
    finally:
        ray.shutdown()


@contextmanager
def _started(workers: int | None, object_store_bytes: int | None) -> Iterator[None]:
    """A cluster of this machine's own: nobody is told of it, and its files go with it."""
    import ray

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if not {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys():
        # Ray would leave one in the home folder, for everybody to read. Kept: Ray reads it once in a process.
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    # Short: a socket's path has room for a hundred characters. For its owner alone: sums may be spilled there.
    folder = tempfile.mkdtemp(prefix="discreet-ray-")
    try:
        ray.init(
            address="local",
            num_cpus=min(workers or _usable(), _usable()),
            object_store_memory=object_store_bytes,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            _temp_dir=folder,
        )
        yield
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def _usable() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _refused(address: str, error: Exception) -> SettingsInvalid | Unreachable:
    reason = " ".join(str(error).split())
    if "ersion mismatch" in reason:
        return SettingsInvalid(
            f"the cluster at {address} has other versions than this process: {reason}. "
            "Install the same Ray and Python on every node"
        )
    return Unreachable(
        f"the cluster at {address} did not take this process in: {reason}. This machine must be one of its nodes, and "
        "where it asks for a token, RAY_AUTH_MODE and RAY_AUTH_TOKEN_PATH must be set here as there"
    )


class WorkerPlace(NamedTuple):
    """Where a worker starts, and how many threads it has."""

    node: str
    threads: int


def share_blocks(sizes: Sequence[int], workers: int) -> list[list[int]]:
    """Numbers of the blocks of each worker: the largest first, each to the one that has least; none is idle."""
    shares: list[list[int]] = [[] for _ in range(min(workers, len(sizes)))]
    least = [(0, place) for place in range(len(shares))]
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        load, place = heapq.heappop(least)
        shares[place].append(number)
        heapq.heappush(least, (load + sizes[number] + 1, place))
    return [sorted(share) for share in shares]


def place_workers(processors: Mapping[str, int], workers: int | None) -> list[WorkerPlace]:
    """A worker for each processor of each node, or so many workers with the processors shared among them."""
    most = max(processors.values())
    slots = [node for turn in range(most) for node, count in processors.items() if turn < count]
    chosen = [slots[number % len(slots)] for number in range(workers or len(slots))]
    return [WorkerPlace(node, max(1, processors[node] // chosen.count(node))) for node in chosen]
