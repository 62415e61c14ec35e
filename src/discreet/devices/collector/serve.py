"""Run the collector: uvicorn with our limits around the application and under it, and no access log."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from contextlib import closing
from typing import Any, Literal

import uvicorn
from starlette.types import Scope

from discreet.devices.collector.app import make_app
from discreet.devices.collector.connections import Connections, guarded_protocol
from discreet.devices.collector.limits import Bodies, Buckets, presents
from discreet.devices.collector.messages import LARGEST_BATCH
from discreet.devices.collector.operations import Counts
from discreet.devices.collector.settings import CollectorSettings
from discreet.devices.collector.store import Store
from discreet.devices.collector.tasks import read_tasks
from discreet.devices.collector.tls import encrypted_protocol, server_context
from discreet.errors import SettingsInvalid

__all__ = ["serve"]

KEEP_ALIVE_SECONDS = 30


def serve(settings: CollectorSettings, ready: Callable[[str], None] = lambda address: None) -> None:
    """Serve until told to stop; ``ready`` is called with the address when it is bound."""
    settings.check()
    config = _configure(settings)
    with closing(Store(settings.store)) as store:
        read_tasks(store)  # a store that cannot be used is a person's mistake, not a failed start
    listener = _listen(settings)
    scheme = "http" if settings.certificate is None else "https"
    host, port = listener.getsockname()[:2]
    ready(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}")
    uvicorn.Server(config).run(sockets=[listener])


def _configure(settings: CollectorSettings) -> uvicorn.Config:
    buckets = Buckets(settings.rate, settings.burst)
    connections = Connections(buckets, settings.connections, settings.all_connections)
    loop: Literal["auto", "asyncio"] = "auto"
    protocol: Any = guarded_protocol(connections)
    if settings.certificate is not None and settings.key is not None:
        protocol = encrypted_protocol(connections, server_context(settings.certificate, settings.key))
        loop = "asyncio"
    counts = Counts()
    return uvicorn.Config(
        Bodies(make_app(settings, counts), buckets, _limit(settings), counts, local=settings.token is None),
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


def _limit(settings: CollectorSettings) -> Callable[[Scope], int]:
    """How large a request's body may be: only who may create tasks can send a whole item list."""

    def limit(scope: Scope) -> int:
        headers = dict(scope["headers"])
        creates = scope["method"] == "POST" and scope["path"] == "/v1/tasks"
        is_json = headers.get(b"content-type", b"").startswith(b"application/json")
        may = creates and is_json and presents(headers.get(b"authorization", b""), settings.token)
        if scope["method"] == "POST" and scope["path"] == "/v1/batches":
            return LARGEST_BATCH
        return settings.largest_task if may else settings.largest_body

    return limit


def _listen(settings: CollectorSettings) -> socket.socket:
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
