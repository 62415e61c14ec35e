"""A request that cannot be met, on its way to whoever asked."""

from __future__ import annotations

__all__ = ["NOT_WRITTEN", "OVERLOADED", "Refused"]

OVERLOADED = (503, "too many reports are waiting for the disk; nothing is lost, send it again in a moment", 1)
"""Status, sentence and seconds to wait where more is sent than the disk takes."""

NOT_WRITTEN = (503, "the store cannot be written now; try again later", 5)
"""The same where the disk takes nothing at all."""


class Refused(Exception):
    """A request that cannot be met: the status to answer with, why, and in how many seconds to try again, if at all."""

    def __init__(self, status: int, why: str, retry_after: int | None = None) -> None:
        super().__init__(why)
        self.status, self.why, self.retry_after = status, why, retry_after
