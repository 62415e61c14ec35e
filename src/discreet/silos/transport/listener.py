"""The server's listener: accepts TLS connections, one request each, within bounds, and closes them."""

from __future__ import annotations

import asyncio
import ssl
import sys
import traceback
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from socket import socket

from discreet.errors import Refused
from discreet.silos.transport.connections import Connections
from discreet.silos.transport.endorsement import ENDORSEMENT
from discreet.silos.transport.http import (
    HEAD_BYTES,
    BadRequest,
    Request,
    Response,
    read_request,
    write_response,
)
from discreet.silos.transport.identity import silo_name
from discreet.silos.transport.protocols import Vouches

__all__ = ["Listener"]

HANDSHAKE_SECONDS = 10.0
GOODBYE_SECONDS = 2.0
_GONE = (OSError, EOFError)  # the client has gone, or was too slow


class Listener:
    """Accepts silos and nobody else.

    Parameters
    ----------
    context
        Requires a certificate of everybody.
    vouches
        Judges certificates that the authorities have issued; any of them could have named anybody.
    silos
        Names of certificates that are served.
    largest
        Bytes of the largest body that is read.
    respond
        Gives the response to a silo's request.
    """

    def __init__(
        self,
        context: ssl.SSLContext,
        vouches: Vouches,
        silos: Collection[str],
        largest: int,
        respond: Callable[[str, Request], Awaitable[Response]],
    ) -> None:
        self._context, self._vouches = context, vouches
        self._silos = silos
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
        name = silo_name(writer.get_extra_info("peercert"))
        if name is None or name not in self._silos:
            words = f"{name} is not a silo of this run's agreement"
            self.answered(HTTPStatus.FORBIDDEN)
            await write_response(writer, Response.words(HTTPStatus.FORBIDDEN, {"error": words}))
            return
        task = asyncio.current_task()
        assert task is not None
        certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)

        def admit(headers: dict[str, str]) -> None:
            try:
                self._vouches.check(name, certificate, headers.get(ENDORSEMENT.lower(), ""))
            except Refused as refusal:
                raise BadRequest(HTTPStatus.FORBIDDEN, str(refusal)) from None
            # Whoever poses as a silo takes none of its places.
            self._connections.identify(task, name)

        response = await self._answer(name, reader, admit)
        self.answered(response.status)
        await write_response(
            writer, replace(response, headers=response.headers | {ENDORSEMENT: self._vouches.own})
        )

    async def _answer(
        self, name: str, reader: asyncio.StreamReader, admit: Callable[[dict[str, str]], None]
    ) -> Response:
        """Whatever happens to one request happens to nobody else's."""
        try:
            return await self._respond(name, await read_request(reader, self._largest, admit))
        except BadRequest as bad:
            return Response.words(bad.status, {"error": str(bad)})
        except _GONE:
            raise
        except Exception:
            traceback.print_exc(file=sys.stderr)
            return Response.words(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "the server has failed"})
