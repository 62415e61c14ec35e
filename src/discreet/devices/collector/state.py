"""What requests to a collector share: store, writer, tasks, counts and the log; and what it does on its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI

from discreet.devices.collector.limits import presents
from discreet.devices.collector.refused import Refused
from discreet.devices.collector.rules import Rules
from discreet.devices.collector.settings import CollectorSettings
from discreet.devices.collector.store import Store
from discreet.devices.collector.tasks import Tasks
from discreet.devices.collector.writer import Writer
from discreet.operations import Counts, Gauge, Log, prometheus

__all__ = ["State"]

SWITCH_SECONDS = 0.0005  # the writer's thread must not wait 5 ms for its turn after each statement


class State:
    """Made with the application; store, writer and tasks when the server starts, in its own loop."""

    def __init__(self, settings: CollectorSettings, counts: Counts | None = None) -> None:
        self.settings = settings
        self.counts = Counts() if counts is None else counts
        self.log = Log("collector", sys.stderr if settings.log else None)
        self.writer: Writer
        self.tasks: Tasks

    @asynccontextmanager
    async def live(self, _: FastAPI) -> AsyncIterator[None]:
        """Everything from the start of the server to its end."""
        sys.setswitchinterval(SWITCH_SECONDS)
        store = Store(self.settings.store)
        self.writer = Writer(store, asyncio.get_running_loop())
        self.tasks = Tasks(store, self.writer, self.log)
        rules = Rules(store, self.tasks, self.log, self.settings.keep_days)
        try:
            await self.tasks.resume()
            self.log.say("started", tasks=len(self.tasks.names()))
            working = asyncio.ensure_future(self._work(rules))
            try:
                yield
            finally:
                working.cancel()
                with suppress(asyncio.CancelledError):
                    await working
        finally:
            await asyncio.to_thread(self.writer.stop)
            store.close()
            self.log.sum_up(self.counts)
            self.log.say("stopped")

    def admit(self, header: bytes, token: str | None, *others: str | None) -> None:
        """Refuse who presents neither ``token`` nor one of the ``others``; without ``token`` all may pass."""
        if not presents(header, token, *others):
            raise Refused(401, "this needs a token: Authorization: Bearer ...")

    def why_not_ready(self) -> str | None:
        """Why no report can be kept now, in words; none if all is well."""
        return self.writer.trouble

    async def metrics(self) -> str:
        """All counts, for the operator."""
        gauges = [Gauge("reports_waiting", "Reports waiting for the disk.", self.writer.waiting)]
        ready = self.why_not_ready() is None
        gauges.append(Gauge("ready", "1 if reports can be kept.", int(ready)))
        for name in self.tasks.names():
            count = await self.tasks.count(name)
            labels = (("task", name),)
            gauges.append(Gauge("round", "Open round of the task; 0 at its end.", count.round, labels))
            gauges.append(Gauge("round_reports", "Reports of the open round.", count.reports, labels))
        gauges.sort(key=lambda gauge: gauge.name)
        return prometheus("discreet_collector", self.counts, gauges)

    async def _work(self, rules: Rules) -> None:
        """End rounds by their rules, delete what is too old, and sum up in the log; over and over."""
        while True:
            await asyncio.sleep(self.settings.tick)
            self.log.sum_up(self.counts)
            await rules.apply()
