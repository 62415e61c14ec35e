"""Reports share commits: while one is on its way to the disk, further ones gather for the next."""

from __future__ import annotations

import asyncio

from discreet.devices.collector.writer import LARGEST_BATCH, LONGEST_QUEUE, Overloaded
from discreet.devices.shuffler.store import Kept, ShufflerStore

__all__ = ["Writer"]


class Writer:
    """Keeps reports in the store, each answered after its commit."""

    def __init__(self, store: ShufflerStore) -> None:
        self._store = store
        self._waiting: list[tuple[Kept, asyncio.Future[None]]] = []
        self._work: asyncio.Task[None] | None = None
        self.trouble: str | None = None

    def keep(self, report: Kept) -> asyncio.Future[None]:
        """Write one report; the future is done after its commit."""
        if len(self._waiting) >= LONGEST_QUEUE:
            raise Overloaded
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((report, answer))
        if self._work is None or self._work.done():
            self._work = asyncio.ensure_future(self._write())
        return answer

    async def stop(self) -> None:
        """Write what is waiting."""
        if self._work is not None:
            await self._work

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:LARGEST_BATCH], self._waiting[LARGEST_BATCH:]
            error: Exception | None = None
            try:
                await asyncio.to_thread(self._store.keep, [report for report, _ in batch])
            except Exception as failed:  # a full disk, say: nobody is told that a report was kept
                error = failed
            self.trouble = None if error is None else "the store could not be written last time"
            for _, answer in batch:
                if answer.cancelled():
                    continue
                if error is None:
                    answer.set_result(None)
                else:
                    answer.set_exception(error)
