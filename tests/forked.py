"""Real processes without the seconds that an interpreter needs to begin: forked from one that has imported everything.

There is one such server of forks for each worker, so all that any of its processes need is in its list.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import subprocess
from collections.abc import Sequence
from typing import Any

from discreet.cli import main

__all__ = ["FORK", "Forked"]

FORK = multiprocessing.get_context("forkserver")
FORK.set_forkserver_preload(
    [
        "discreet.cli.federate.server",
        "discreet.cli.federate.silo",
        "discreet.cli.collect",
        "discreet.devices.collector.app",
        "discreet.devices.loopback",
        "discreet.methods.budgeted.private.contributions",
        "discreet.methods.published.private.dpals",
        "discreet.methods.prototypes",
        "discreet.web.service",
        "discreet.silos.server.coordinator",
        "discreet.silos.silo.silo",
        "tests.devices.support.running",
    ]
)


class Forked:
    """Stands in for ``subprocess.Popen`` of ``python -m discreet``, as far as simulations use it."""

    def __init__(self, command: Sequence[str], *, stdout: Any, stderr: Any = None, **_: Any) -> None:
        assert command[1:3] == ["-m", "discreet"]
        files = {2: stderr and stderr.name}
        if stdout == subprocess.PIPE:
            here, files[1] = socket.socketpair()
            self.stdout = here.makefile()
            here.close()  # as soon as the file is
        else:
            files[1] = stdout.name
        place = os.getcwd(), dict(os.environ)
        self._process = FORK.Process(target=_run, args=(command[3:], *place, files))
        self._process.start()
        if stdout == subprocess.PIPE:
            files[1].close()
        self.terminate, self.kill = self._process.terminate, self._process.kill

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, *_: object) -> None:
        self.stdout.close()
        self.wait()

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, seconds: float | None = None) -> None:
        self._process.join(seconds)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("discreet", seconds or 0.0)


def _run(arguments: Sequence[str], folder: str, environment: dict[str, str], files: dict[int, Any]) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, file in files.items():
        if isinstance(file, socket.socket):
            os.dup2(file.detach(), number)
        elif file is not None:
            os.dup2(os.open(file, os.O_WRONLY | os.O_APPEND), number)
    main(arguments, prog_name="discreet")
