"""How kernels are compiled: to machine code that other processes load from disk, outside the interpreter lock."""

from __future__ import annotations

import hashlib
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from numba import config, njit

__all__ = ["exact_kernel", "kernel"]

REASSOCIATE = {"reassoc", "contract"}
"""Sums may be vectorised and fused; nothing is assumed about NaN, infinities or signs of zero."""


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile on first use, without the interpreter lock, and keep the machine code on disk.

    Where no folder can be written to, numba refuses to cache at all; then the code is compiled in every process.
    """
    return _compiled(function, fastmath=REASSOCIATE)


def exact_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same with sums in the order they are written: agrees with plain Python to the last bit."""
    return _compiled(function)


def _compiled(function: Callable[..., Any], **more: Any) -> Callable[..., Any]:
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", **more}
    try:
        with _kept_by_sources(Path(function.__code__.co_filename)):
            compiled: Callable[..., Any] = njit(cache=True, **options)(function)
    except RuntimeError:
        compiled = njit(**options)(function)
    return compiled


@contextmanager
def _kept_by_sources(file: Path) -> Iterator[None]:
    """Keep machine code under a name that follows from all sources it is made of.

    A caller's machine code holds what it calls, and numba looks at the caller's own file alone: code that was mended
    in one file would go on to run as it was in the others.
    """
    with _ONE_AT_A_TIME:
        before = config.CACHE_DIR
        own = Path(before) if before else file.parent / "__pycache__"
        folder = own / f"{file.stem}-{_digest_of(file)}"
        if not before and not folder.exists():
            for older in own.glob(f"{file.stem}-{'[0-9a-f]' * _DIGITS}"):
                if older != folder:  # another process may just have made it
                    shutil.rmtree(older, ignore_errors=True)
        config.CACHE_DIR = str(folder)
        try:
            yield
        finally:
            config.CACHE_DIR = before


# The setting is the whole process's, and another library's kernels have their own place.
_ONE_AT_A_TIME = threading.Lock()
_DIGITS = 8  # paths on Windows are short
_IMPORTED = re.compile(r"^\s*from discreet\.kernels\.(\w+) import", re.MULTILINE)


@cache
def _digest_of(file: Path) -> str:
    """Of a file with kernels and of all such files that it imports, and they import."""
    known: dict[str, str] = {}
    new = [file]
    while new:
        one = new.pop()
        if one.name not in known and one.is_file():
            known[one.name] = one.read_text(encoding="utf-8")
            new += [one.with_name(f"{name}.py") for name in _IMPORTED.findall(known[one.name])]
    return hashlib.sha256(repr(sorted(known.items())).encode()).hexdigest()[:_DIGITS]
