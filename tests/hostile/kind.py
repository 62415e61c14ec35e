"""What is attacked: a reader of this package, with genuine input to spoil and a judge of what came out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from random import Random
from typing import ClassVar, Literal

from discreet.errors import DiscreetError

__all__ = ["Kind", "Outcome"]

Outcome = Literal["same", "other"]
"""What was read: exactly what it was before, or something else that is whole and cannot be told from genuine."""


class Kind(ABC):
    """One kind of input. A new one is listed in ``kinds.py``.

    Attributes
    ----------
    refusals
        Errors that are a proper refusal: on the command line they end with code 2 and no traceback.
    may_differ
        Whether an altered input may be a genuine one of its own; digests and signatures allow none.
    may_abort
        Whether a library may end the process; such inputs are counted apart (docs/known-limits.md).
    """

    refusals: ClassVar[tuple[type[Exception], ...]] = (DiscreetError,)
    may_differ: ClassVar[bool] = True
    may_abort: ClassVar[bool] = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def attempt(self, draw: Random) -> Outcome:
        """Spoil an input, read it, and check what was read; the refusal, if there is one, goes on to the caller."""
