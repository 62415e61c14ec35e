"""A process that has imported everything but ``discreet``, and forks for every run of tests.

Two thirds of the time of a short run go into importing packages that no bug is planted in.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path

__all__ = ["FELL", "Zygote"]

FELL = 70
"""Exit code where pytest ends with an exception of its own."""

_PACKAGES = (
    "numpy scipy.stats scipy.special scipy.optimize scipy.sparse numba pydantic polars hypothesis pytest randomgen "
    "click rich.table safetensors.numpy threadpoolctl dp_accounting pytest_timeout "
    "cryptography.hazmat.primitives.ciphers mutants.witness"
)


class Zygote:
    """Runs pytest in forks of one process, one at a time."""

    def __init__(self, root: Path) -> None:
        paths = {**os.environ, "PYTHONPATH": str(root), "OPENBLAS_NUM_THREADS": "2"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "mutants.zygote"],
            cwd=root,
            env=paths,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, arguments: list[str], environment: dict[str, str], longest: float) -> int | None:
        """The exit code of ``pytest`` with these arguments; ``None`` where it took longer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([arguments, environment, longest]), file=self._process.stdin, flush=True)
        code: int | None = json.loads(self._process.stdout.readline())
        return code

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def _serve() -> None:
    for package in _PACKAGES.split():
        with suppress(ImportError):
            importlib.import_module(package)
    assert "discreet" not in sys.modules
    answers = os.fdopen(os.dup(1), "w")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    for line in sys.stdin:
        arguments, environment, longest = json.loads(line)
        child = os.fork()
        if child == 0:
            code = FELL
            try:
                os.setsid()
                os.dup2(null, 0)
                code = _child(arguments, environment)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        print(json.dumps(_ended(child, longest)), file=answers, flush=True)


def _child(arguments: list[str], environment: dict[str, str]) -> int:
    import numba
    import pytest
    from hypothesis import configuration

    os.environ.update(environment)
    sys.path[:0] = environment["PYTHONPATH"].split(os.pathsep)
    tempfile.tempdir = None
    numba.config.CACHE_DIR = environment["NUMBA_CACHE_DIR"]
    configuration.set_hypothesis_home_dir(environment["HYPOTHESIS_STORAGE_DIRECTORY"])
    return int(pytest.main(arguments))


def _ended(child: int, longest: float) -> int | None:
    """Wait for it; what takes too long is ended, with all that it has started."""
    until = time.monotonic() + longest
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, 9)
    os.waitpid(child, 0)
    return None


if __name__ == "__main__":
    _serve()
