"""Connections a client may hold, and how long it may take to say what it wants.

uvicorn limits neither the size nor the time of a request's head, and its limit of connections is one for
everybody together, which is what a flood uses up. This layer sits under either of its HTTP protocols.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from discreet.devices.collector.limits import Buckets, client_key
from discreet.errors import SettingsInvalid

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as _Protocol
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle as _Cycle
else:
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as _Protocol
        from uvicorn.protocols.http.httptools_impl import RequestResponseCycle as _Cycle
    except ImportError:
        from uvicorn.protocols.http.h11_impl import H11Protocol as _Protocol
        from uvicorn.protocols.http.h11_impl import RequestResponseCycle as _Cycle

__all__ = ["Connections", "check_server", "guarded_protocol"]

HEAD_BYTES = 16_384
HEAD_SECONDS = 10.0
WRITE_SECONDS = 30.0
PIPELINED = 16


# Parts of uvicorn's protocols that it promises nobody, and that the limits here rest on.
PARTS: dict[type, tuple[str, ...]] = {
    _Protocol: ("transport", "loop", "cycle"),
    _Cycle: ("response_complete",),
}
CALLS = ("connection_made", "connection_lost", "data_received", "pause_writing", "resume_writing")


def check_server() -> None:
    """Refuse to start on a uvicorn whose insides have changed: limits would silently not be kept."""
    gone = [
        f"{kind.__name__}.{name}"
        for kind, names in PARTS.items()
        for name in names
        if name not in _assigned(kind)
    ]
    gone += [f"{_Protocol.__name__}.{name}" for name in CALLS if not callable(getattr(_Protocol, name, None))]
    if gone:
        raise SettingsInvalid(
            f"uvicorn {version('uvicorn')} has no {', '.join(gone)} any more, which the limits on connections rest on;"
            " install a version that pip install 'discreet[serve]' allows"
        )


def _assigned(kind: type) -> tuple[str, ...]:
    """Names that are used where an object of this kind is made."""
    code = getattr(vars(kind).get("__init__"), "__code__", None)
    return () if code is None else tuple(code.co_names)


class Connections:
    """Counts connections, by client and in all."""

    def __init__(self, buckets: Buckets, each: int, together: int) -> None:
        self._buckets, self._each, self._together = buckets, each, together
        self._held: Counter[str] = Counter()
        self._all = 0

    def enter(self, client: str) -> bool:
        """Whether one more connection of this client may stay; it counts if so."""
        if self._all >= self._together or self._held[client] >= self._each or self._buckets.floods(client):
            if not self._held[client]:
                del self._held[client]
            return False
        self._held[client] += 1
        self._all += 1
        return True

    def leave(self, client: str) -> None:
        """A counted connection has ended."""
        self._held[client] -= 1
        self._all -= 1
        if not self._held[client]:
            del self._held[client]


def guarded_protocol(connections: Connections) -> type[asyncio.Protocol]:
    """uvicorn's HTTP protocol with limits on connections, heads and slow readers."""

    class Guarded(_Protocol):
        _counted: str | None = None
        _timer: asyncio.TimerHandle | None = None
        _head = 0
        _early = b""  # what came between the end of a handshake and the start
        lost = False

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            peer = transport.get_extra_info("peername")
            client = client_key(peer[0]) if peer else ""
            if connections.enter(client):
                self.begin(transport, client)
            else:
                super().connection_made(transport)
                transport.abort()

        def begin(self, transport: asyncio.Transport, client: str) -> None:
            """Start on a connection that is counted already."""
            super().connection_made(transport)
            self._counted = client
            self._give(HEAD_SECONDS)
            if self._early:
                self.data_received(self._early)

        def connection_lost(self, exc: Exception | None) -> None:
            self.lost = True
            if self.transport is None:
                return
            if self._counted is not None:
                connections.leave(self._counted)
                self._counted = None
            self._stop_timer()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self.transport is None:
                self._early += data
                return
            for start in range(0, len(data), HEAD_BYTES):
                if self.transport.is_closing():
                    return
                self._feed(data[start : start + HEAD_BYTES])

        def _feed(self, data: bytes) -> None:
            before = self.cycle
            super().data_received(data)
            between = self.cycle is before and (before is None or before.response_complete)
            self._head = self._head + len(data) if between else 0
            pipeline: Any = getattr(self, "pipeline", ())
            if self._head > HEAD_BYTES or len(pipeline) > PIPELINED:
                self.transport.abort()
            elif not between:
                self._stop_timer()
            elif self._timer is None:
                self._give(HEAD_SECONDS)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._give(WRITE_SECONDS)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._stop_timer()

        def _give(self, seconds: float) -> None:
            self._stop_timer()
            self._timer = self.loop.call_later(seconds, self.transport.abort)

        def _stop_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return Guarded
