"""The one web server here: uvicorn behind our limits, without an access log, on an address that may be used."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Protocol

import uvicorn
from starlette.types import ASGIApp

from discreet.devices.collector.connections import Connections, check_server, guarded_protocol
from discreet.devices.collector.limits import Buckets
from discreet.devices.collector.tls import encrypted_protocol, server_context
from discreet.errors import SettingsInvalid

__all__ = ["Listening", "run_server"]

KEEP_ALIVE_SECONDS = 30


class Listening(Protocol):
    """What settings say about where a server listens and how much it allows."""

    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def certificate(self) -> Path | None: ...
    @property
    def key(self) -> Path | None: ...
    @property
    def rate(self) -> float: ...
    @property
    def burst(self) -> float: ...
    @property
    def connections(self) -> int: ...
    @property
    def all_connections(self) -> int: ...


def run_server(
    settings: Listening,
    limited: Callable[[Buckets], ASGIApp],
    ready: Callable[[str], None],
    check: Callable[[], None] = lambda: None,
) -> None:
    """Serve until told to stop.

    ``limited`` makes the application, with the counts of each client's requests; ``check`` may refuse before anything
    is bound; ``ready`` is called with the address when it is.
    """
    check_server()
    config = _configure(settings, limited)
    check()
    listener = _listen(settings)
    scheme = "http" if settings.certificate is None else "https"
    host, port = listener.getsockname()[:2]
    ready(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}")
    uvicorn.Server(config).run(sockets=[listener])


def _configure(settings: Listening, limited: Callable[[Buckets], ASGIApp]) -> uvicorn.Config:
    buckets = Buckets(settings.rate, settings.burst)
    connections = Connections(buckets, settings.connections, settings.all_connections)
    loop: Literal["auto", "asyncio"] = "auto"
    protocol: Any = guarded_protocol(connections)
    if settings.certificate is not None and settings.key is not None:
        protocol = encrypted_protocol(connections, server_context(settings.certificate, settings.key))
        loop = "asyncio"
    return uvicorn.Config(
        limited(buckets),
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


def _listen(settings: Listening) -> socket.socket:
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
