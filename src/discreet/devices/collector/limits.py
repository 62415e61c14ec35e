"""How large a request may be, how long it may take to arrive, and who presents which token.

How often one address may ask is a reverse proxy's to say (``deploy/nginx.conf``).
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.operations import Counts

__all__ = ["Bodies", "answer", "is_local", "presents", "read_body"]

BODY_SECONDS = 10.0


def is_local(host: bytes) -> bool:
    """Whether a request's ``Host`` names this machine, as it is named by whoever meant to reach it."""
    try:
        name = urlsplit(b"//" + host).hostname or b""
        return name == b"localhost" or ipaddress.ip_address(name.decode("ascii")).is_loopback
    except ValueError:
        return False


def presents(header: bytes, token: str | None, *others: str | None) -> bool:
    """Whether an ``Authorization`` header has ``token`` or one of the ``others``; without ``token`` all do."""
    if token is None:
        return True
    known = [one for one in (token, *others) if one is not None]
    return sum(hmac.compare_digest(header, b"Bearer " + one.encode()) for one in known) > 0


async def answer(
    send: Send,
    status: int,
    content: dict[str, Any] | bytes,
    *,
    close: bool = False,
    retry_after: int | None = None,
) -> None:
    """Send a small JSON answer."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if close:
        headers.append((b"connection", b"close"))
    if retry_after is not None:
        headers.append((b"retry-after", b"%d" % retry_after))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def read_body(receive: Receive, limit: int) -> bytes | int:
    """The request's body, or the status to refuse it with: 413 too large, 408 too slow, 400 broken off."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return 400
                body += message.get("body", b"")
                if len(body) > limit:
                    return 413
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        return 408


class Bodies:
    """ASGI layer: size and time, then the application, which sees a body that is complete and small.

    Parameters
    ----------
    app, limit
        The application; most bytes of a body, which may depend on the head of the request.
    local
        Answer nobody who calls this machine by a name of the network. Without it, a web page opened here could
        command a collector that has no token: its own name may come to mean 127.0.0.1 (DNS rebinding).
    counts
        Where refusals are counted.
    """

    def __init__(
        self,
        app: ASGIApp,
        limit: Callable[[Scope], int],
        counts: Counts,
        *,
        local: bool = False,
    ) -> None:
        self._app, self._limit, self._counts, self._local = app, limit, counts, local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._local and not all(is_local(value) for name, value in scope["headers"] if name == b"host"):
            await self._refuse(send, 421, "without a token, this answers to localhost and 127.0.0.1 only")
            return
        limit = self._limit(scope)
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if len(declared) > 15 or not declared.isdigit() or int(declared) > limit:
            await self._refuse(send, 413, f"the request is over {limit} bytes")
            return
        body = await read_body(receive, limit)
        if isinstance(body, int):
            await self._refuse(send, body, _WHY[body])
            return
        await self._app(scope, _replay(body, receive), send)

    async def _refuse(self, send: Send, status: int, why: str) -> None:
        self._counts.refuse(status)
        await answer(send, status, {"error": why}, close=True)


_WHY = {
    400: "the request broke off",
    408: "the request took too long to arrive",
    413: "the request is too large",
}


def _replay(body: bytes, receive: Receive) -> Receive:
    told = False

    async def replay() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
