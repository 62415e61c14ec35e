"""Run the service: uvicorn with limits on size and time, and no request written to a log."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.devices.collector.limits import Bodies, answer, presents
from discreet.devices.collector.web_server import run_server
from discreet.operations import Counts
from discreet.service.app import PATHS, make_app
from discreet.service.current import HANGUP, Current
from discreet.service.direct import Direct
from discreet.service.metrics import Measured, Metrics
from discreet.service.settings import ServiceSettings

__all__ = ["Admitted", "serve"]


def serve(settings: ServiceSettings, ready: Callable[[str], None] = lambda address: None) -> None:
    """Serve until told to stop; ``ready`` is called with the address when it is bound."""
    logging.basicConfig(format="%(message)s")  # to stderr, unless the caller has decided otherwise
    settings.check()
    metrics = Metrics(PATHS)
    current = Current(settings.model, page=settings.page, tell=metrics.exchanged)
    if HANGUP is not None:  # until the event loop takes it over it would end the process
        signal.signal(HANGUP, lambda *_: current.look())
    run_server(settings, _limited(settings, current, metrics), ready)


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


def _limited(settings: ServiceSettings, current: Current, metrics: Metrics) -> ASGIApp:
    app = make_app(current, metrics, watch=settings.watch, page=settings.page)
    local = settings.token is None and not settings.anyone

    bodies = Bodies(Direct(app, current), lambda scope: settings.largest_body, Counts(), local=local)
    return Measured(Admitted(bodies, settings.token), metrics)
