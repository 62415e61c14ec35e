"""Which Ray cluster: one that is there, or one of this machine's own for as long as a run lasts."""

from __future__ import annotations

import importlib.util
import logging
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.data.stored import StoredRatings
from discreet.engines.choice import AnyRatings
from discreet.engines.devices import Gpu
from discreet.errors import SettingsInvalid, Unreachable
from discreet.methods.private_half import PrivateHalf
from discreet.methods.protocol import Progress

if TYPE_CHECKING:
    from discreet.engines.cluster.engine import RayEngine

__all__ = ["Cluster", "read_cluster"]

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
        How many processes answer; ``None``: one for each processor of the cluster, or for each GPU.
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

    def engine(
        self,
        private_half: type[PrivateHalf],
        ratings: AnyRatings,
        progress: Progress | None = None,
        gpu: Gpu | None = None,
    ) -> RayEngine:
        """The engine that answers for these ratings, on the cluster's GPUs if `gpu` says how; while connected."""
        from discreet.engines.cluster.engine import RayEngine

        assert isinstance(ratings, StoredRatings)
        return RayEngine(private_half, ratings, self.workers, progress, gpu=gpu)

    def _check_same(self, connected: str) -> None:
        if self.address is not None and _resolved(self.address) != _resolved(connected):
            raise SettingsInvalid(
                f"this process is connected to the cluster at {connected} already, not to {self.address}"
            )


def read_cluster(engine: Cluster | str | None, ratings: AnyRatings, device: str) -> Cluster | None:
    """What was given as ``engine``; ``None``: the one that the ratings are for, on this machine.

    Raises
    ------
    SettingsInvalid
        For an unknown engine, and where ratings or device do not go with it.
    """
    if engine is None:
        return None
    cluster = Cluster() if engine == "ray" else engine
    if not isinstance(cluster, Cluster):
        raise SettingsInvalid(
            f"there is no engine {engine!r}; leave it out, or give 'ray' or a discreet.engines.cluster.Cluster"
        )
    if not isinstance(ratings, StoredRatings):
        raise SettingsInvalid(
            "the engine ray reads ratings from blocks; prepare them with discreet.data.prepare"
        )
    if device not in ("cpu", "cuda"):
        raise SettingsInvalid(f"on a cluster every worker has a GPU of its own; give cuda, not {device}")
    return cluster


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
