"""One planted bug: where, what, which promise it breaks, and who should notice."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass

__all__ = ["Mutant", "NotFound"]


class NotFound(ValueError):
    """The text to be changed is not in the sources exactly once."""


@dataclass(frozen=True)
class Mutant:
    """A change of one file that breaks a promise.

    Parameters
    ----------
    name
        What the bug is, in a few words; unique.
    file
        Under ``src/discreet``.
    old, new
        The text that is there exactly once, and what stands there instead.
    breaks
        The promise that does not hold any more, in one line.
    tests
        Files or single tests under ``tests`` that should see it.
    only
        Which of these tests, as ``pytest -k`` takes it.
    quick
        Whether ``make test`` plants it as well.
    """

    name: str
    file: str
    old: str
    new: str
    breaks: str
    tests: tuple[str, ...]
    only: str | None = None
    quick: bool = False

    @property
    def room(self) -> str:
        """The folder it is in: two levels where the first has rooms of its own."""
        parts = self.file.split("/")[:-1]
        return "/".join(parts[:2]) if parts[0] in ("privacy", "methods", "devices", "silos") else parts[0]

    @property
    def compiled(self) -> bool:
        """Whether it is in code that is compiled, of which machine code may lie on the disk."""
        return self.file.startswith("kernels/")

    @property
    def module(self) -> str:
        """The module that is changed."""
        return "discreet." + self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def applied(self, text: str) -> str:
        """The file's text with the bug in it."""
        found = text.count(self.old)
        if found != 1:
            raise NotFound(
                f"{self.name}: the text to change is {found} times in {self.file}; "
                "bring the mutant up to date with the code"
            )
        return text.replace(self.old, self.new)

    def digest(self, text: str) -> str:
        """Of the change and of the file that it is made in."""
        parts = (text, self.file, self.old, self.new, *self.tests, self.only or "")
        return hashlib.sha256(os.linesep.join(parts).encode()).hexdigest()[:16]
