"""Clusters of several nodes on one machine, each begun by ``ray start`` on ports of its own, gone after the test."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.ports import free_port

STORE = 80 * 2**20


@contextmanager
def cluster(
    folder: Path, processors: Sequence[int], environments: Sequence[Mapping[str, str]] | None = None
) -> Iterator[str]:
    """A head and other nodes with so many processors each; gives the head's address."""
    address = f"127.0.0.1:{free_port()}"
    given = environments or [{} for _ in processors]
    with ExitStack() as held:
        for number, (count, environment) in enumerate(zip(processors, given, strict=True)):
            port = address.rpartition(":")[2]
            head = ["--head", f"--port={port}", f"--temp-dir={folder}", "--include-dashboard=false"]
            node = head if number == 0 else [f"--address={address}"]
            held.enter_context(_node([*node, f"--num-cpus={count}"], environment))
            _wait_for(address)
        yield address


@contextmanager
def _node(arguments: Sequence[str], environment: Mapping[str, str]) -> Iterator[None]:
    quiet = ["--block", "--disable-usage-stats", f"--object-store-memory={STORE}"]
    command = [str(Path(sys.executable).with_name("ray")), "start", *arguments, *quiet]
    # A session of its own: what is left of it can be ended by its group, and nothing else is.
    with subprocess.Popen(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_for(address: str) -> None:
    host, _, port = address.rpartition(":")
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise TimeoutError(f"no head at {address}")


def processes(word: str) -> list[int]:
    """Those with this word in their command line, but for this one."""
    found = []
    for place in Path("/proc").iterdir():
        try:
            line = (place / "cmdline").read_bytes()
        except OSError:
            continue
        if place.name.isdecimal() and word.encode() in line and int(place.name) != os.getpid():
            found.append(int(place.name))
    return found


def end_of(word: str, seconds: float = 60.0) -> bool:
    """Whether all processes with this word are gone in time."""
    end = time.monotonic() + seconds
    while processes(word):
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True


def end_all(word: str) -> None:
    """Kill what a failed test has left, by number."""
    for number in processes(word):
        os.kill(number, signal.SIGKILL)
