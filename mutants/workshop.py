"""A copy of the sources, in which one bug at a time is planted and taken out again."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mutants.mutant import Mutant
from mutants.zygote import Zygote

__all__ = ["ROOT", "SOURCES", "Workshop"]

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src"


class Workshop:
    """A folder with a copy of ``src`` and, beside it, the machine code compiled from that copy.

    Parameters
    ----------
    folder
        Where; kept between runs, as compiling anew takes a minute.

    Attributes
    ----------
    zygote
        Runs tests in it.

    Notes
    -----
    Python and numba know stale files by their time and size, so every planted file has a time of its own. Machine
    code of one kernel may hold another one, whose file's time nobody asks for: what is compiled is therefore planted
    with no machine code at all.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.zygote = Zygote(ROOT)
        self.src, self._machine_code = folder / "src", folder / "machine-code"
        self._planted = 0

    def refresh(self) -> None:
        """Bring the copy up to date; what has not changed keeps its time, and with it its machine code."""
        for path in self.src.rglob("*.py"):
            if not (SOURCES / path.relative_to(self.src)).exists():
                path.unlink()
        for path in SOURCES.rglob("*"):
            copy = self.src / path.relative_to(SOURCES)
            if path.is_dir() or "__pycache__" in path.parts or _same(path, copy):
                continue
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)

    @contextmanager
    def planted(self, mutant: Mutant | None) -> Iterator[dict[str, str]]:
        """The environment to run tests in, with the bug in the copy for as long as this lasts."""
        with tempfile.TemporaryDirectory(dir=self.folder, ignore_cleanup_errors=True) as scratch:
            environment = self._environment(Path(scratch), compiled=mutant is not None and mutant.compiled)
            if mutant is None:
                yield environment
                return
            file, original = self.src / "discreet" / mutant.file, SOURCES / "discreet" / mutant.file
            self._planted += 1
            file.write_text(mutant.applied(original.read_text()))
            # Later than the original by whole seconds, another number for each: no file is taken for another.
            when = original.stat().st_mtime + 1_000_000 + 10 * self._planted + os.getpid() % 10
            os.utime(file, (when, when))
            try:
                yield environment
            finally:
                shutil.copy2(original, file)

    def _environment(self, scratch: Path, *, compiled: bool) -> dict[str, str]:
        return {
            "PYTHONPATH": os.pathsep.join([str(self.src), str(ROOT)]),
            "NUMBA_CACHE_DIR": str(scratch / "machine-code" if compiled else self._machine_code),
            # Examples that failed with one bug must not help to find the next.
            "HYPOTHESIS_STORAGE_DIRECTORY": str(scratch / "hypothesis"),
            "TMPDIR": str(scratch),
            "MUTANT_WITNESS": str(scratch / "witness.json"),
            "MUTANT_SOURCES": str(self.src),
        }


def _same(path: Path, copy: Path) -> bool:
    if not copy.exists():
        return False
    one, other = path.stat(), copy.stat()
    return (one.st_mtime_ns, one.st_size) == (other.st_mtime_ns, other.st_size)
