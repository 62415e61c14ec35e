"""The one web server here: uvicorn, without an access log, on an address that may be used.

TLS, and limits for each address, are a reverse proxy's (``deploy/nginx.conf``).
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from typing import Protocol

import uvicorn
from starlette.types import ASGIApp

from discreet.errors import SettingsInvalid

__all__ = ["Listening", "run_server"]

KEEP_ALIVE_SECONDS = 30
MOST_AT_ONCE = 4096
"""Connections and requests together; beyond that uvicorn answers 503."""


class Listening(Protocol):
    """What settings say about where a server listens."""

    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...


def run_server(
    settings: Listening,
    app: ASGIApp,
    ready: Callable[[str], None],
    check: Callable[[], None] = lambda: None,
) -> None:
    """Serve until told to stop.

    ``check`` may refuse before anything is bound; ``ready`` is called with the address when it is.
    """
    config = uvicorn.Config(
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
    check()
    listener = _listen(settings)
    host, port = listener.getsockname()[:2]
    ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")
    uvicorn.Server(config).run(sockets=[listener])


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
