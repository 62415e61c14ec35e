"""The page that recommends in the browser, handed out file by file from memory."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from discreet.service.current import Current
from discreet.web.page import INDEX, POLICY

__all__ = ["add_page"]

_HEADERS = {
    "content-security-policy": f"{POLICY}; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}


def add_page(app: FastAPI, current: Current) -> None:
    """Serve the page at ``/`` and its files beside it."""

    @app.get("/", include_in_schema=False)
    async def index(request: Request) -> Response:
        return _file(current, INDEX, request)

    @app.get("/{name}", include_in_schema=False)
    async def file(name: str, request: Request) -> Response:
        return _file(current, name, request)


def _file(current: Current, name: str, request: Request) -> Response:
    found = current.served.page.get(name)
    if found is None:
        raise HTTPException(404, "there is nothing here")
    headers = _HEADERS | {"etag": f'"{found.digest}"', "vary": "accept-encoding"}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    if found.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(
            found.packed, headers=headers | {"content-encoding": "gzip"}, media_type=found.media_type
        )
    return Response(found.content, headers=headers, media_type=found.media_type)
