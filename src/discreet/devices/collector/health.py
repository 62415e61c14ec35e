"""Is it alive, and is it ready?"""

from __future__ import annotations

from collections.abc import Callable

from fastapi import FastAPI
from fastapi.responses import JSONResponse

from discreet.devices.collector.refused import Refused

__all__ = ["add_health_routes"]


def add_health_routes(app: FastAPI, why_not_ready: Callable[[], str | None]) -> None:
    """Alive: the process answers. Ready: a report sent now can be kept."""

    @app.get("/healthz")
    @app.get("/health/live")
    async def live() -> JSONResponse:
        return JSONResponse({"ok": True})

    @app.get("/health/ready")
    async def ready() -> JSONResponse:
        why = why_not_ready()
        if why is not None:
            raise Refused(503, f"not ready: {why}", retry_after=5)
        return JSONResponse({"ok": True})
