"""Ports for servers that tests start, stop and start again."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle
from pathlib import Path

__all__ = ["free_port"]


def free_port() -> int:
    """A port that no other worker is given, outside of the range that outgoing connections are given.

    Inside of it, a client that connects again and again while its server is down may be given this very port as its
    own: it then talks to itself, and the server cannot come back.
    """
    while True:
        port = next(_own)
        with suppress(OSError), socket.socket() as taken:
            taken.bind(("127.0.0.1", port))
            return port


def _ports() -> Iterator[int]:
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    own = range(min(10_000, lowest // 2), lowest)[
        worker :: int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    ]
    start = random.randrange(len(own))
    return cycle([*own[start:], *own[:start]])


_own = _ports()
