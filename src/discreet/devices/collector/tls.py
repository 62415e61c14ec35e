"""TLS for the collector: a connection is counted before its handshake.

asyncio tells a protocol about an encrypted connection when its handshake is over, or a minute later if the other side
says nothing. Whoever opens connections and says nothing would hold as many as the process may have.

This needs asyncio's own event loop: uvloop reads on after ``pause_reading`` in ``connection_made``, and the first
bytes of the handshake are lost.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from discreet.devices.collector.connections import HEAD_SECONDS, Connections, guarded_protocol
from discreet.devices.collector.limits import client_key
from discreet.errors import SettingsInvalid

__all__ = ["encrypted_protocol", "server_context"]


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """TLS with this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise SettingsInvalid(f"{certificate} and {key} cannot be used for TLS: {error}") from error
    return context


def encrypted_protocol(connections: Connections, context: ssl.SSLContext) -> Callable[..., asyncio.Protocol]:
    """The guarded protocol behind TLS; an open handshake counts as a connection, and has the time of a head."""
    guarded: Any = guarded_protocol(connections)

    class Encrypted(asyncio.Protocol):
        def __init__(self, **given: Any) -> None:
            self._inner = guarded(**given)
            self._handshake: asyncio.Task[None] | None = None

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            wire = cast("asyncio.Transport", transport)
            peer = wire.get_extra_info("peername")
            client = client_key(peer[0]) if peer else ""
            if not connections.enter(client):
                wire.abort()
                return
            wire.pause_reading()  # the other side may have begun already; start_tls goes on from there
            self._handshake = asyncio.ensure_future(self._open(wire, client))

        async def _open(self, wire: asyncio.Transport, client: str) -> None:
            loop = asyncio.get_running_loop()
            try:
                secure = await loop.start_tls(
                    wire, self._inner, context, server_side=True, ssl_handshake_timeout=HEAD_SECONDS
                )
            except OSError:
                secure = None
            except BaseException:
                connections.leave(client)
                raise
            if secure is None or secure.is_closing() or self._inner.lost:
                connections.leave(client)
                wire.abort()
            else:
                self._inner.begin(secure, client)

    return Encrypted
