"""Run the service: uvicorn with limits around the application and under it, and no request written to a log."""

from __future__ import annotations

import errno
import signal
import socket
from collections.abc import Callable
from typing import Any, Literal

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.devices.collector.connections import Connections, guarded_protocol
from discreet.devices.collector.limits import Bodies, Buckets, answer, presents
from discreet.devices.collector.tls import encrypted_protocol, server_context
from discreet.errors import SettingsInvalid
from discreet.operations import Counts
from discreet.service.app import PATHS, make_app
from discreet.service.current import HANGUP, Current
from discreet.service.metrics import Measured, Metrics
from discreet.service.settings import ServiceSettings

__all__ = ["Admitted", "serve"]

KEEP_ALIVE_SECONDS = 30


def serve(settings: ServiceSettings, ready: Callable[[str], None] = lambda address: None) -> None:
    """Serve until told to stop; ``ready`` is called with the address when it is bound."""
    settings.check()
    metrics = Metrics(PATHS)
    current = Current(settings.model, page=settings.page, tell=metrics.exchanged)
    if HANGUP is not None:  # until the event loop takes it over it would end the process
        signal.signal(HANGUP, lambda *_: current.look())
    config = _configure(settings, current, metrics)
    listener = _listen(settings)
    scheme = "http" if settings.certificate is None else "https"
    host, port = listener.getsockname()[:2]
    ready(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}")
    uvicorn.Server(config).run(sockets=[listener])


class Admitted:
    """ASGI layer: who does not present the token learns whether the service is well, and nothing else."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it before its body is read."""
        if scope["type"] == "http" and not scope["path"].startswith("/health/"):
            header = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
            if not presents(header, self._token):
                why = "this needs a token: Authorization: Bearer ..."
                await answer(send, 401, {"error": why}, close=True)
                return
        await self._app(scope, receive, send)


def _configure(settings: ServiceSettings, current: Current, metrics: Metrics) -> uvicorn.Config:
    buckets = Buckets(settings.rate, settings.burst)
    connections = Connections(buckets, settings.connections, settings.all_connections)
    loop: Literal["auto", "asyncio"] = "auto"
    protocol: Any = guarded_protocol(connections)
    if settings.certificate is not None and settings.key is not None:
        protocol = encrypted_protocol(connections, server_context(settings.certificate, settings.key))
        loop = "asyncio"
    app = make_app(current, metrics, watch=settings.watch, page=settings.page)
    local = settings.token is None and not settings.anyone
    limited = Bodies(app, buckets, lambda scope: settings.largest_body, Counts(), local=local)
    return uvicorn.Config(
        Measured(Admitted(limited, settings.token), metrics),
        http=protocol,
        loop=loop,
        ws="none",
        lifespan="on",
        interface="asgi3",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=10,
    )


def _listen(settings: ServiceSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        advice = "; choose another --port" if error.errno == errno.EADDRINUSE else ""
        raise SettingsInvalid(f"cannot listen on {settings.host}:{settings.port}: {error}{advice}") from error
    return listener
