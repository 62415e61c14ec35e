"""The server's listener: accepts TLS connections, one request each, within bounds, and closes them."""

from __future__ import annotations

import asyncio
import ssl
import sys
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from socket import socket

from discreet.errors import Refused
from discreet.silos.transport.connections import Connections
from discreet.silos.transport.http import (
    HEAD_BYTES,
    BadRequest,
    Request,
    Response,
    read_request,
    write_response,
)
from discreet.silos.transport.passes import PASS

__all__ = ["Listener"]

HANDSHAKE_SECONDS = 10.0
GOODBYE_SECONDS = 2.0
_GONE = (OSError, EOFError)  # the client has gone, or was too slow


class Listener:
    """Accepts silos and nobody else.

    Parameters
    ----------
    context
        The server's own certificate.
    holder
        Of a pass: the silo, or a refusal.
    largest
        Bytes of the largest body that is read.
    respond
        Gives the response to a silo's request.
    """

    def __init__(
        self,
        context: ssl.SSLContext,
        holder: Callable[[str], str],
        largest: int,
        respond: Callable[[str, Request], Awaitable[Response]],
    ) -> None:
        self._context, self._holder = context, holder
        self._largest = largest
        self._respond = respond
        self.answered: Callable[[HTTPStatus], None] = lambda status: None
        self._connections = Connections()

    async def accept(self, listening: socket) -> None:
        """Accept connections until cancelled."""
        listening.setblocking(False)
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listening)
            except OSError:  # the client has gone again, or there are no descriptors left for now
                await asyncio.sleep(0.05)
                continue
            task = loop.create_task(self._serve(connection))
            self._connections.admit(task)
            task.add_done_callback(self._connections.forget)

    async def close(self) -> None:
        """End all connections."""
        await self._connections.end()

    async def _serve(self, connection: socket) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=HEAD_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        with suppress(*_GONE):
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol,
                connection,
                ssl=self._context,
                ssl_handshake_timeout=HANDSHAKE_SECONDS,
                ssl_shutdown_timeout=GOODBYE_SECONDS,
            )
            try:
                await self._exchange(reader, asyncio.StreamWriter(transport, protocol, reader, loop))
            finally:
                transport.abort()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        caller = ""

        def admit(headers: dict[str, str]) -> None:
            nonlocal caller
            try:
                caller = self._holder(headers.get(PASS.lower(), ""))
            except Refused as refusal:
                raise BadRequest(HTTPStatus.FORBIDDEN, str(refusal)) from None
            # Whoever poses as a silo takes none of its places.
            self._connections.identify(task, caller)

        try:
            request = await read_request(reader, self._largest, admit)
            response = await self._respond(caller, request)
        except BadRequest as bad:
            response = Response.words(bad.status, {"error": str(bad)})
        except _GONE:
            raise
        except Exception:  # whatever happens to one request happens to nobody else's
            traceback.print_exc(file=sys.stderr)
            response = Response.words(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "the server has failed"})
        self.answered(response.status)
        await write_response(writer, response)
