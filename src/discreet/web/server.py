"""The server room that all servers here share: where one listens, who may ask and how much, and uvicorn.

TLS, and how often one address may ask, are a reverse proxy's (``deploy/nginx.conf``).
"""

from __future__ import annotations

import asyncio
import errno
import hmac
import ipaddress
import json
import logging
import socket
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Protocol
from urllib.parse import urlsplit

import uvicorn
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import DiscreetError, SettingsInvalid

__all__ = [
    "PRIVATE",
    "REFUSALS",
    "Counting",
    "Limits",
    "Measured",
    "ServerSettings",
    "explain",
    "presents",
    "quiet",
    "read_token",
    "refusal",
    "run_server",
]

BODY_SECONDS = 10.0
KEEP_ALIVE_SECONDS = 30
MOST_AT_ONCE = 4096
"""Connections and requests together; beyond that uvicorn answers 503."""
SHORTEST_TOKEN = 16
PRIVATE = {"cache-control": "no-store", "x-content-type-options": "nosniff"}

log = logging.getLogger("discreet.web")


class ServerSettings(BaseModel):
    """Where a server listens, and what it asks for.

    Parameters
    ----------
    host, port
        Where to listen; ``localhost`` is 127.0.0.1, whatever a resolver says; port 0 takes a free one.
    token
        What must be presented. Without one, nobody who calls this machine by another name than localhost or 127.0.0.1
        is answered.
    largest_body
        Most bytes in a request.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    token: str | None = None
    largest_body: Annotated[int, Field(ge=256)] = 1 << 18

    @field_validator("host")
    @classmethod
    def _name_loopback(cls, host: str) -> str:
        return "127.0.0.1" if host.lower() == "localhost" else host

    def check_listening(self, others: bool, wanted: str, *tokens: str | None) -> None:
        """Refuse weak tokens, and to be reached from other machines unless ``others`` may; ``wanted`` says how."""
        for token in (self.token, *tokens):
            if token is not None and (
                len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable()
            ):
                raise SettingsInvalid(f"a token must be at least {SHORTEST_TOKEN} printable ASCII characters")
        if not (others or _is_loopback(self.host)):
            raise SettingsInvalid(
                f"{self.host} can be reached from other machines: that needs {wanted}. Listen on 127.0.0.1 to do "
                "without"
            )


def read_token(path: str | Path | None) -> str | None:
    """A token from a file; on a command line everybody on the machine could read it."""
    if path is None:
        return None
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"the token cannot be read from {path}: {error}") from error


def presents(headers: Mapping[bytes, bytes], token: str | None, *others: str | None) -> bool:
    """Whether a request's headers present ``token`` or one of the ``others``; without ``token`` all do."""
    if token is None:
        return True
    header = headers.get(b"authorization", b"")
    known = [one for one in (token, *others) if one is not None]
    return sum(hmac.compare_digest(header, b"Bearer " + one.encode()) for one in known) > 0


def refusal(status: int, why: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The answer that says what is wrong."""
    content = json.loads(json.dumps({"error": why}).encode("utf-8", "replace"))
    return JSONResponse(content, status_code=status, headers=PRIVATE | dict(headers or {}))


def explain(errors: Any) -> str:
    """The first of pydantic's errors in one line, without the value that was sent."""
    first = errors[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}"[:300] if where else str(first["msg"])[:300]


async def _refused(_: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return refusal(error.status_code, str(error.detail), error.headers)
    if isinstance(error, ValidationError):
        return refusal(422, explain(error.errors(include_url=False)))
    return refusal(422, str(error))


async def _fault(_: Request, error: Exception) -> Response:
    return refusal(500, "this is our fault; it was logged, without the request")


REFUSALS: dict[Any, Any] = {
    **dict.fromkeys((HTTPException, ValidationError, DiscreetError), _refused),
    Exception: _fault,
}
"""How an application answers what is raised in a request."""


class Counting(Protocol):
    """Whoever counts requests: one whose head is there, one whose answer has been handed over."""

    def began(self) -> None: ...

    def ended(self, path: str, status: int, seconds: float) -> None: ...


class Measured:
    """ASGI layer around everything else: counts, and logs a fault of ours, whose answer tells nobody anything.

    A traceback may show what was being worked on, so the log gets the kind of the error and its place alone.
    """

    def __init__(self, app: ASGIApp, counts: Counting) -> None:
        self._app, self._counts = app, counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count its answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, start = 0, time.perf_counter()

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._counts.began()
        try:
            await self._app(scope, receive, noted)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            log.error("%s in %s, line %s", type(error).__name__, place.filename, place.lineno)
        finally:
            self._counts.ended(scope["path"], status, time.perf_counter() - start)


class Limits:
    """ASGI layer: who is called, size and time; the application then sees a body that is complete and small.

    Parameters
    ----------
    app, limit
        The application; most bytes of a body, which may depend on the head of the request.
    local
        Answer nobody who calls this machine by a name of the network. Without it, a web page opened here could
        command a server that has no token: its own name may come to mean 127.0.0.1 (DNS rebinding).
    admitted
        Whether a request may be answered, by its head; who may not is asked for a token, before the body is read.
    """

    def __init__(
        self,
        app: ASGIApp,
        limit: Callable[[Scope], int],
        *,
        local: bool,
        admitted: Callable[[Scope], bool] = lambda scope: True,
    ) -> None:
        self._app, self._limit, self._local, self._admitted = app, limit, local, admitted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, limit = scope["headers"], self._limit(scope)
        declared = next((value for name, value in headers if name == b"content-length"), b"0")
        found: bytes | tuple[int, str]
        if self._local and not all(_is_local(value) for name, value in headers if name == b"host"):
            found = 421, "without a token, this answers to localhost and 127.0.0.1 only"
        elif not self._admitted(scope):
            found = 401, "this needs a token: Authorization: Bearer ..."
        elif len(declared) > 15 or not declared.isdigit() or int(declared) > limit:
            found = 413, f"the request is over {limit} bytes"
        else:
            found = await _read_body(receive, limit)
        if isinstance(found, bytes):
            await self._app(scope, _replay(found, receive), send)
        else:
            await refusal(*found, {"connection": "close"})(scope, receive, send)


async def _read_body(receive: Receive, limit: int) -> bytes | tuple[int, str]:
    """The request's body, or what to refuse it with."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    return 400, "the request broke off"
                body += message.get("body", b"")
                if len(body) > limit:
                    return 413, f"the request is over {limit} bytes"
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        return 408, "the request took too long to arrive"


def _replay(body: bytes, receive: Receive) -> Receive:
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


def quiet(app: ASGIApp) -> uvicorn.Config:
    """How all servers here run: within bounds, and no request is written to a log."""
    return uvicorn.Config(
        app,
        ws="none",
        lifespan="on",
        interface="asgi3",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        limit_concurrency=MOST_AT_ONCE,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=10,
    )


def run_server(
    settings: ServerSettings,
    app: ASGIApp,
    ready: Callable[[str], None],
    check: Callable[[], None] = lambda: None,
) -> None:
    """Serve until told to stop.

    ``check`` may refuse before anything is bound; ``ready`` is called with the address when it is.
    """
    check()
    listener = _listen(settings)
    host, port = listener.getsockname()[:2]
    ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")
    uvicorn.Server(quiet(app)).run(sockets=[listener])


def _listen(settings: ServerSettings) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        advice = "; choose another --port" if error.errno == errno.EADDRINUSE else ""
        raise SettingsInvalid(f"cannot listen on {settings.host}:{settings.port}: {error}{advice}") from error
    return listener


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_local(host: bytes) -> bool:
    """Whether a request's ``Host`` names this machine, as it is named by whoever meant to reach it."""
    try:
        name = (urlsplit(b"//" + host).hostname or b"").decode("ascii")
    except ValueError:
        return False
    return name == "localhost" or _is_loopback(name)
