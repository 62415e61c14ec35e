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
INSERT = (
    _RECORDS
    + "INSERT INTO reports(task, round, device, bit) SELECT :task, :round, device, bit FROM sent WHERE true"
    " ON CONFLICT DO NOTHING"
)
_STORED = "JOIN reports AS kept ON kept.task = :task AND kept.round = :round AND kept.device = sent.device"
CHANGED = _RECORDS + f"SELECT i FROM sent CROSS {_STORED} WHERE kept.bit <> sent.bit"
KNOWN = _RECORDS + f"SELECT i, kept.bit = sent.bit FROM sent CROSS {_STORED}"


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
        self._stopping = False
        self._failed = False
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
                    self._run_work(self._works.popleft())
                if self._reports:
                    self._run_batch()
            if self._stopping:
                return

    def _run_work(self, work: _Work) -> None:
        try:
            result = self._transaction(lambda: work.run(self._connection))
        except Exception as error:  # whatever it is belongs to the request that asked
            self._tell([(work.answer, error)])
        else:
            self._tell([(work.answer, result)])

    def _run_batch(self) -> None:
        batch = [self._reports.popleft() for _ in range(min(len(self._reports), LARGEST_BATCH))]
        rounds: dict[tuple[int, int], list[_Report]] = {}
        for report in batch:
            rounds.setdefault((report.task, report.round), []).append(report)
        try:
            verdicts = self._transaction(lambda: [self._write(*key, group) for key, group in rounds.items()])
        except Exception as error:  # a full disk, say: nobody is told that a report was kept
            self._tell([(report.answer, error) for report in batch])
        else:
            pairs = zip(rounds.values(), verdicts, strict=True)
            self._tell(
                [
                    (report.answer, said)
                    for group, told in pairs
                    for report, said in zip(group, told, strict=True)
                ]
            )

    def _write(self, task: int, number: int, group: list[_Report]) -> list[Verdict]:
        values = {
            "task": task,
            "round": number,
            "count": len(group),
            "records": b"".join(report.record for report in group),
        }
        run = self._connection.execute
        row = run("SELECT state FROM rounds WHERE task = ? AND round = ?", (task, number)).fetchone()
        if row is None:
            return [Verdict.EARLY] * len(group)
        if row[0] == "open":
            run(INSERT, values)
            verdicts = [Verdict.KEPT] * len(group)
            for (place,) in run(CHANGED, values):
                verdicts[place] = Verdict.CHANGED
        else:
            verdicts = [Verdict.LATE] * len(group)
            for place, same in run(KNOWN, values):
                verdicts[place] = Verdict.KEPT if same else Verdict.CHANGED
        return verdicts

    def _transaction(self, work: Callable[[], T]) -> T:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            result = work()
            self._connection.execute("COMMIT")
            self._failed = False
        except BaseException as error:
            self._failed = isinstance(error, sqlite3.Error)
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        return result

    def _tell(self, answers: list[tuple[asyncio.Future[Any], Any]]) -> None:
        try:
            self._loop.call_soon_threadsafe(_settle, answers)
        except RuntimeError:  # the loop has ended: nobody waits for an answer any more
            return


def _settle(answers: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, result in answers:
        if future.cancelled():
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
