"""A load generator: many connections, each sending one report and waiting for its answer before the next.

It is how the collector's speed is measured and how it is tested under load; it plays devices without ratings.
A connection that breaks is made again and repeats the report it has no answer to, as a device would.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

__all__ = ["Load", "Outcome", "send_reports"]

RETRY_SECONDS = 0.02
HEAD = (
    b"POST /v1/reports HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\n\r\n"
)


@dataclass
class Outcome:
    """What came of it: seconds it took, seconds each answered report waited, and answers by status."""

    seconds: float = 0.0
    waits: list[float] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Reports accepted a second."""
        return self.statuses.get(200, 0) / self.seconds

    def wait(self, share: float) -> float:
        """The wait that this share of the reports did not exceed, in seconds."""
        waits = sorted(self.waits)
        return waits[min(len(waits) - 1, int(share * len(waits)))]


@dataclass(frozen=True)
class Load:
    """Where to send to, and how."""

    port: int
    host: str = "127.0.0.1"
    connections: int = 64
    source: str = "127.0.0.1"
    seconds: float | None = None

    def run(
        self, bodies: Iterable[bytes], answered: Callable[[bytes, int], None] = lambda body, status: None
    ) -> Outcome:
        """Send all reports, or as many as the time allows."""
        return asyncio.run(send_reports(self, iter(bodies), answered))


async def send_reports(
    load: Load, bodies: Iterator[bytes], answered: Callable[[bytes, int], None] = lambda body, status: None
) -> Outcome:
    """The same within a running loop; ``answered`` is told each report's status as it comes."""
    outcome = Outcome()
    started = time.perf_counter()
    end = None if load.seconds is None else started + load.seconds
    lines = [_Line(load, bodies, outcome, answered, end) for _ in range(load.connections)]
    await asyncio.gather(*(line.work() for line in lines))
    outcome.seconds = time.perf_counter() - started
    return outcome


class _Line(asyncio.Protocol):
    """One connection after another, one report at a time."""

    def __init__(
        self,
        load: Load,
        bodies: Iterator[bytes],
        outcome: Outcome,
        answered: Callable[[bytes, int], None],
        end: float | None,
    ) -> None:
        self._load, self._bodies, self._outcome, self._answered, self._end = (
            load,
            bodies,
            outcome,
            answered,
            end,
        )
        self._body: bytes | None = None
        self._buffer = b""
        self._sent = 0.0
        self._transport: asyncio.Transport | None = None
        self._closed: asyncio.Future[None]

    async def work(self) -> None:
        """Connect, send until there is nothing left, connect again if it breaks."""
        loop = asyncio.get_running_loop()
        while self._next():
            self._closed = loop.create_future()
            try:
                await loop.create_connection(
                    lambda: self, self._load.host, self._load.port, local_addr=(self._load.source, 0)
                )
                await self._closed
            except OSError:
                await asyncio.sleep(RETRY_SECONDS)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport, self._buffer = transport, b""
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if not self._closed.done():
            self._closed.set_result(None)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head = self._buffer.find(b"\r\n\r\n")
        if head < 0 or len(self._buffer) < head + 4 + _length(self._buffer[:head]):
            return
        status = int(self._buffer[9:12])
        self._buffer = b""
        self._outcome.waits.append(time.perf_counter() - self._sent)
        self._outcome.statuses[status] = self._outcome.statuses.get(status, 0) + 1
        assert self._body is not None
        self._answered(self._body, status)
        self._body = None
        if self._transport is None:
            return
        if self._next():
            self._send()
        else:
            self._transport.close()

    def _next(self) -> bool:
        if self._end is not None and time.perf_counter() > self._end:
            return False
        if self._body is None:
            self._body = next(self._bodies, None)
        return self._body is not None

    def _send(self) -> None:
        assert self._body is not None
        assert self._transport is not None
        self._sent = time.perf_counter()
        self._transport.write(HEAD % len(self._body) + self._body)


def _length(head: bytes) -> int:
    start = head.lower().find(b"content-length:")
    return int(head[start + 15 :].split(b"\r\n", 1)[0]) if start >= 0 else 0
