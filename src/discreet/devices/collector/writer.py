"""One thread writes; many reports share one commit, and each is answered after it.

While a commit waits for the disk, further reports gather for the next one, so a busy collector pays one flush
for hundreds of reports and an idle one answers at once. A batch is written by two statements, whatever its
size: a statement a report would hand the interpreter to the event loop and back each time.
"""

from __future__ import annotations

import asyncio
import enum
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from discreet.devices.collector.store import RECORD, Store

__all__ = ["Overloaded", "Verdict", "Writer"]

T = TypeVar("T")
LARGEST_BATCH = 2000
LONGEST_QUEUE = 20_000

_RECORDS = f"""
    WITH RECURSIVE place(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM place WHERE i + 1 < :count),
    sent(i, device, bit) AS (
        SELECT i, substr(:records, i * {RECORD} + 1, {RECORD - 1}), substr(:records, (i + 1) * {RECORD}, 1) = x'01'
        FROM place
    )
"""
_INSERT = (
    _RECORDS
    + "INSERT INTO reports(task, round, device, bit) SELECT :task, :round, device, bit FROM sent WHERE true"
    " ON CONFLICT DO NOTHING"
)
_KNOWN = (
    _RECORDS + "SELECT i, kept.bit = sent.bit FROM sent CROSS JOIN reports AS kept"
    " ON kept.task = :task AND kept.round = :round AND kept.device = sent.device"
    " WHERE :late OR kept.bit <> sent.bit"  # of an open round as good as none: rows are slow here
)


class Verdict(enum.Enum):
    """What became of a report."""

    KEPT = enum.auto()  # now, or by an earlier request with the same content
    CHANGED = enum.auto()  # this device has answered this round otherwise
    LATE = enum.auto()  # the round takes no reports any more
    EARLY = enum.auto()  # there is no such round yet


class Overloaded(Exception):
    """More reports wait for the disk than the collector is willing to hold."""


class _Report(NamedTuple):
    task: int
    round: int
    record: bytes
    answer: asyncio.Future[Verdict]


class _Work(NamedTuple):
    run: Callable[[sqlite3.Connection], Any]
    answer: asyncio.Future[Any]


class Writer:
    """The only connection that writes, and its thread."""

    def __init__(self, store: Store, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._connection = store.connect()
        self._reports: deque[_Report] = deque()
        self._works: deque[_Work] = deque()
        self._wake = threading.Event()
        self._stopping = self._failed = False
        self._thread = threading.Thread(target=self._run, name="collector-writer", daemon=True)
        self._thread.start()

    def keep(self, task: int, number: int, record: bytes) -> asyncio.Future[Verdict]:
        """Write one report; the future is done after its commit."""
        if len(self._reports) >= LONGEST_QUEUE:
            raise Overloaded
        answer: asyncio.Future[Verdict] = self._loop.create_future()
        self._reports.append(_Report(task, number, record, answer))
        if not self._wake.is_set():  # whoever clears it looks at the queue afterwards
            self._wake.set()
        return answer

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` in a transaction of its own between two batches."""
        answer: asyncio.Future[T] = self._loop.create_future()
        self._works.append(_Work(work, answer))
        self._wake.set()
        return await answer

    @property
    def waiting(self) -> int:
        """Reports that wait for the disk."""
        return len(self._reports)

    @property
    def trouble(self) -> str | None:
        """Why reports cannot be kept now, in words; none if all is well."""
        if not self._thread.is_alive():
            return "the collector is stopping"
        if self._failed:
            return "the store could not be written last time"
        return "too many reports are waiting" if len(self._reports) >= LONGEST_QUEUE else None

    def stop(self) -> None:
        """Write what is waiting and end the thread."""
        self._stopping = True
        self._wake.set()
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            while self._reports or self._works:
                while self._works:
                    one = self._works.popleft()
                    self._commit([one.answer], lambda work=one: [work.run(self._connection)])  # type: ignore[misc]
                if self._reports:
                    count = min(len(self._reports), LARGEST_BATCH)
                    batch = [self._reports.popleft() for _ in range(count)]
                    self._commit([one.answer for one in batch], lambda batch=batch: self._write(batch))  # type: ignore[misc]
            if self._stopping:
                return

    def _commit(self, answers: list[asyncio.Future[Any]], work: Callable[[], list[Any]]) -> None:
        """Do the work in one transaction; whoever waits is told after it, and of a full disk nothing else."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            results = work()
            self._connection.execute("COMMIT")
            self._failed = False
        except Exception as error:  # whatever it is belongs to the requests that asked
            self._failed = isinstance(error, sqlite3.Error)
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            results = [error] * len(answers)
        try:
            self._loop.call_soon_threadsafe(_settle, answers, results)
        except RuntimeError:  # the loop has ended: nobody waits for an answer any more
            return

    def _write(self, batch: list[_Report]) -> list[Verdict]:
        rounds: dict[tuple[int, int], list[int]] = {}
        for place, report in enumerate(batch):
            rounds.setdefault((report.task, report.round), []).append(place)
        verdicts = [Verdict.EARLY] * len(batch)
        for (task, number), places in rounds.items():
            records = b"".join(batch[place].record for place in places)
            values: dict[str, Any] = {"task": task, "round": number, "count": len(places), "records": records}
            run = self._connection.execute
            row = run("SELECT state FROM rounds WHERE task = ? AND round = ?", (task, number)).fetchone()
            if row is None:
                continue
            late = row[0] != "open"
            if not late:
                run(_INSERT, values)
            for place in places:
                verdicts[place] = Verdict.LATE if late else Verdict.KEPT
            for at, same in run(_KNOWN, {**values, "late": late}):
                verdicts[places[at]] = Verdict.KEPT if same else Verdict.CHANGED
        return verdicts


def _settle(answers: list[asyncio.Future[Any]], results: list[Any]) -> None:
    for future, result in zip(answers, results, strict=True):
        if future.cancelled():
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
