"""What a collector does without being told: rounds end by their rule, and old reports are deleted."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable

from discreet.devices.collector.refused import Refused
from discreet.devices.collector.store import Store
from discreet.devices.collector.tasks import Tasks
from discreet.errors import DiscreetError
from discreet.operations import Log

__all__ = ["Rules"]


class Rules:
    """Applied every few seconds.

    A round ends when ``enough`` reports are there, or ``hours`` after the hour in which it was opened if the task's
    minimum is. Where a deadline passes with less, the round stays open, and the log says so once: nothing is ever
    released from fewer reports than the minimum.
    """

    def __init__(
        self,
        store: Store,
        tasks: Tasks,
        log: Log,
        keep_days: float | None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._tasks, self._log = store, tasks, log
        self._keep_days, self._clock = keep_days, clock
        self._said: set[tuple[str, int]] = set()

    async def apply(self) -> None:
        """Do what is due now; trouble of one task is logged and keeps nothing else from being done."""
        for name in self._tasks.names():
            try:
                await self._end_round(name)
            except (Refused, DiscreetError, sqlite3.Error, OSError) as error:
                self._log.say("round not ended", task=name, why=str(error))
        if self._keep_days is not None:
            before = int(self._clock() - 86_400.0 * self._keep_days)
            try:
                deleted = await self._tasks.delete_reports(before=before)
            except sqlite3.Error as error:
                self._log.say("old reports not deleted", why=str(error))
            else:
                if deleted:
                    self._log.say("old reports deleted", reports=deleted)

    async def _end_round(self, name: str) -> None:
        config = self._tasks.get(name).config
        if config.enough is None and config.hours is None:
            return
        count = await self._tasks.count(name)
        if not count.round:
            return
        full = config.enough is not None and count.reports >= max(config.enough, config.minimum)
        due = config.hours is not None and self._clock() >= count.opened + 3600.0 * config.hours
        if full or (due and count.reports >= config.minimum):
            await self._tasks.close(name, count.round)
        elif due and (name, count.round) not in self._said:
            self._said.add((name, count.round))
            self._log.say(
                "deadline passed", task=name, round=count.round, reports=count.reports, minimum=config.minimum
            )
