"""One thread writes; many reports share one commit, and each is answered after it.

While a commit waits for the disk, further reports gather for the next one, so a busy collector pays one flush
for hundreds of reports and an idle one answers at once. A batch is written by two statements, whatever its
size: a statement a report would hand the interpreter to the event loop and back each time.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeAlias, TypeVar

from discreet.devices.collector.store import RECORD, Store

__all__ = ["EARLY", "Refused", "Writer"]

T = TypeVar("T")
LARGEST_BATCH = 2000

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


CHANGED = (409, "this device has already answered this round otherwise")
LATE = (410, "this round takes no more reports")
EARLY = (409, "this round is not open yet")
Refused: TypeAlias = tuple[int, str]
"""How a report is refused, and in which words; none for one that is kept, now or by an earlier request."""


class _Report(NamedTuple):
    task: int
    round: int
    record: bytes
    answer: asyncio.Future[Refused | None]


class Writer:
    """The only connection that writes, and its thread."""

    def __init__(self, store: Store) -> None:
        self._connection = store.connect()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="collector-writer")
        self._reports: deque[_Report] = deque()
        self._working: asyncio.Task[None] | None = None
        self.failed = False

    def keep(self, task: int, number: int, record: bytes) -> asyncio.Future[Refused | None]:
        """Write one report; the future is done after its commit."""
        answer: asyncio.Future[Refused | None] = asyncio.get_running_loop().create_future()
        self._reports.append(_Report(task, number, record, answer))
        if self._working is None:
            self._working = asyncio.ensure_future(self._work())
        return answer

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run ``work`` in a transaction of its own between two batches."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._commit, work)

    @property
    def waiting(self) -> int:
        """Reports that wait for the disk."""
        return len(self._reports)

    async def stop(self) -> None:
        """Write what is waiting and end the thread."""
        if self._working is not None:
            await self._working
        self._thread.shutdown()
        self._connection.close()

    async def _work(self) -> None:
        """Write batch after batch; whoever waits is told after the commit, and of a full disk nothing else."""
        while self._reports:
            loop = asyncio.get_running_loop()
            for report, result in await loop.run_in_executor(self._thread, self._write_batch):
                if report.answer.cancelled():
                    continue
                if isinstance(result, Exception):
                    report.answer.set_exception(result)
                else:
                    report.answer.set_result(result)
        self._working = None

    def _write_batch(self) -> list[tuple[_Report, Refused | Exception | None]]:
        batch = [self._reports.popleft() for _ in range(min(len(self._reports), LARGEST_BATCH))]
        results: Sequence[Refused | Exception | None]
        try:
            results = self._commit(lambda _: self._write(batch))
        except Exception as error:  # whatever it is belongs to the requests that asked
            results = [error] * len(batch)
        return list(zip(batch, results, strict=True))

    def _commit(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do the work in one transaction, on the writer's thread."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            result = work(self._connection)
            self._connection.execute("COMMIT")
        except Exception as error:
            self.failed = isinstance(error, sqlite3.Error)
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self.failed = False
        return result

    def _write(self, batch: list[_Report]) -> list[Refused | None]:
        rounds: dict[tuple[int, int], list[int]] = {}
        for place, report in enumerate(batch):
            rounds.setdefault((report.task, report.round), []).append(place)
        verdicts: list[Refused | None] = [EARLY] * len(batch)
        run = self._connection.execute
        for (task, number), places in rounds.items():
            records = b"".join(batch[place].record for place in places)
            values: dict[str, Any] = {"task": task, "round": number, "count": len(places), "records": records}
            row = run("SELECT state FROM rounds WHERE task = ? AND round = ?", (task, number)).fetchone()
            if row is None:
                continue
            late = row[0] != "open"
            if not late:
                run(_INSERT, values)
            for place in places:
                verdicts[place] = LATE if late else None
            for at, same in run(_KNOWN, {**values, "late": late}):
                verdicts[places[at]] = None if same else CHANGED
        return verdicts
