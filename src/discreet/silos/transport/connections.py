"""How many connections there may be at a time, so that one client cannot keep the others out."""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["Connections"]

Task = asyncio.Task[Any]

STRANGERS = 64
PER_SILO = 4


class Connections:
    """The connections that are open, by who is at the other end.

    Where there are too many of a kind, the oldest of that kind is ended: a new one is always let in, and neither
    strangers (who have not shown a certificate yet) nor one silo can use up another silo's places.
    """

    def __init__(self) -> None:
        self._open: dict[str | None, list[Task]] = {}

    def admit(self, task: Task) -> None:
        """Count a connection of nobody known yet."""
        self._add(None, task, STRANGERS)

    def identify(self, task: Task, silo: str) -> None:
        """Count it from now on among the silo's."""
        self.forget(task)
        self._add(silo, task, PER_SILO)

    def forget(self, task: Task) -> None:
        """It has ended."""
        for tasks in self._open.values():
            if task in tasks:
                tasks.remove(task)

    async def end(self) -> None:
        """End all of them."""
        tasks = [task for tasks in self._open.values() for task in tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _add(self, kind: str | None, task: Task, most: int) -> None:
        tasks = self._open.setdefault(kind, [])
        tasks.append(task)
        while len(tasks) > most:
            tasks.pop(0).cancel()
