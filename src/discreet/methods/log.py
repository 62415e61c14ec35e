"""What a run tells the ``discreet`` logger: that it began, each stage, how it ended. Never a rating, an id or a count.

A refusal may quote a row of the table, so the log has its kind alone; its words go to who called. A search tells
nothing: how many fits it makes must stay secret (``privacy/proofs/selection.md``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from discreet.errors import DiscreetError
from discreet.privacy.budget import Budget

__all__ = ["noted", "silent", "told"]

log = logging.getLogger("discreet.methods")

_silent: ContextVar[bool] = ContextVar("silent", default=False)

Progress = Callable[[str, int, int], None]

_PUBLIC_STAGES = ("training",)
# Of these the total is public: releases that are planned. On a cluster that of the workers that add up is not: it
# follows from the number of blocks, and so from that of the ratings.


@contextmanager
def silent() -> Iterator[None]:
    """Runs inside tell the logger nothing at all."""
    before = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(before)


def _say(level: int, words: str, *details: object) -> None:
    if not _silent.get():
        log.log(level, words, *details)


@contextmanager
def told(method: str, budget: Budget) -> Iterator[None]:
    """Log the begin and the end of a run."""
    _say(logging.INFO, "training %s within %s", method, budget)
    try:
        yield
    except DiscreetError as error:
        _say(logging.WARNING, "training %s was refused: %s", method, type(error).__name__)
        raise
    _say(logging.INFO, "trained %s", method)


def noted(progress: Progress | None) -> Progress:
    """Log each stage whose total is public, and pass every stage on to who called, the holder."""

    def report(stage: str, done: int, total: int) -> None:
        if stage in _PUBLIC_STAGES:
            _say(logging.DEBUG, "%s: %d of %d", stage, done, total)
        if progress is not None:
            progress(stage, done, total)

    return report
