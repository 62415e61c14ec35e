"""What the operating system says to a test follows from the test's name: chance decides once, and not in every run.

Noise, keys, splits and starts without a seed all come from ``os.urandom``, directly or through ``secrets``. While a
test runs it is answered by a stream that follows from the name of the test, or of the fixture that is made for several
tests, so that a test that passes passes again, wherever and in whatever order. Production code is the same.

A test whose promise is about the entropy itself is marked ``fresh`` and asks the operating system; so do processes
that tests start. Those must not fail by chance either: their bounds are six standard errors, or a p-value of 1e-8.
``DISCREET_FRESH=1`` makes all tests fresh; ``make check`` those that grow (``tests/sizes.py``).
"""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from uuid import UUID

import numpy as np
from numba.core import caching

__all__ = ["entropy_of"]

_system = os.urandom
_stream: np.random.Generator | None = None


def _urandom(size: int, /) -> bytes:
    stream = _stream
    return _system(size) if stream is None else stream.bytes(size)


def _forget() -> None:
    """A child that went on with its parent's stream would repeat it."""
    global _stream
    _stream = None


@contextmanager
def entropy_of(name: str, *, fresh: bool = False) -> Iterator[None]:
    """Answer what is asked of the operating system by the stream of a name, or truly where it is to be fresh."""
    global _stream
    before = _stream
    if fresh or os.environ.get("DISCREET_FRESH") == "1":
        _stream = None
    else:
        seed = int.from_bytes(hashlib.sha256(name.encode()).digest())
        _stream = np.random.Generator(np.random.Philox(seed))
    try:
        yield
    finally:
        _stream = before


os.register_at_fork(after_in_child=_forget)
os.urandom = _urandom
random._urandom = _urandom  # type: ignore[attr-defined]  # what random.SystemRandom, and so secrets, asks
# Two workers that compile one kernel at the same time must not name its temporary file alike.
caching.uuid = SimpleNamespace(uuid4=lambda: UUID(bytes=_system(16), version=4))
