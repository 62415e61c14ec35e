"""The recommendation service: a released model behind HTTP, and the page, on a checked address.

Whatever is wrong with a request is answered with a 4xx and one sentence. No request is written to a log.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.model import Recommendations
from discreet.web.current import HANGUP, Current
from discreet.web.interface import interface
from discreet.web.metrics import CONTENT_TYPE, Metrics
from discreet.web.page import INDEX, SENT_WITH
from discreet.web.prepared import Batches
from discreet.web.requests import RecommendRequest, SearchQuery, SimilarQuery
from discreet.web.server import (
    PRIVATE,
    REFUSALS,
    Limits,
    Measured,
    ServerSettings,
    presents,
    refusal,
    run_server,
)

__all__ = ["ServiceSettings", "make_app", "serve"]

Q = TypeVar("Q", bound=BaseModel)
_PATHS = frozenset(
    {"/recommend", "/similar", "/items", "/statement", "/statement.html", "/health/live", "/health/ready"}
    | {"/metrics", "/openapi.json", "/"}
)
"""Paths that metrics name."""


class ServiceSettings(ServerSettings):
    """How to serve a model; beside what any server needs:

    Parameters
    ----------
    model
        The model folder. What replaces it is served as soon as it is seen.
    anyone
        Answer whoever reaches the address, as behind a proxy that ends TLS, with or without a token.
    page
        Serve the page that recommends in the browser.
    watch
        Seconds between looks at the model folder; 0 means to look when told to (SIGHUP) and at no other time.
    """

    model: Path
    anyone: bool = False
    page: bool = True
    watch: Annotated[float, Field(ge=0)] = 2.0
    largest_body: Annotated[int, Field(ge=1024)] = 1 << 18

    def check(self) -> None:
        """Refuse to listen where others could read histories on their way, or ask without leave."""
        self.check_listening(self.anyone, "--anyone, where something in front of it ends TLS")


def serve(settings: ServiceSettings, ready: Callable[[str], None] = lambda address: None) -> None:
    """Serve until told to stop; ``ready`` is called with the address when it is bound."""
    logging.basicConfig(
        format="%(asctime)s %(message)s"
    )  # to stderr, unless the caller has decided otherwise
    settings.check()
    metrics = Metrics(_PATHS)
    current = Current(settings.model, page=settings.page, tell=metrics.exchanged)
    if HANGUP is not None:  # until the event loop takes it over it would end the process
        signal.signal(HANGUP, lambda *_: current.look())
    local = settings.token is None and not settings.anyone
    bodies = Limits(make_app(settings, current, metrics), lambda scope: settings.largest_body, local=local)
    run_server(settings, Measured(_Admitted(bodies, settings.token), metrics), ready)


class _Admitted:
    """ASGI layer: who does not present the token learns whether the service is well, and nothing else."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it before its body is read."""
        free = self._token is None or scope["type"] != "http" or scope["path"].startswith("/health/")
        if free or presents(dict(scope["headers"]), self._token):
            await self._app(scope, receive, send)
            return
        why = "this needs a token: Authorization: Bearer ..."
        await refusal(401, why, {"connection": "close"})(scope, receive, send)


def make_app(settings: ServiceSettings, current: Current, metrics: Metrics) -> Starlette:
    """The application; limits, token and counts are put around it by `serve`."""

    @asynccontextmanager
    async def live(_: Starlette) -> AsyncIterator[None]:
        async with current.watched(settings.watch):
            yield

    routes = [*_lists(current), *_about(current, metrics)]
    if settings.page:
        routes += [Route("/", _page(current)), Route("/{name}", _page(current))]
    return Starlette(
        routes=routes,
        lifespan=live,
        exception_handlers=REFUSALS,
    )


class _Recommend:
    """``POST /recommend`` as an ASGI application: the usual request, for which a framework's wrapping is not small."""

    def __init__(self, current: Current) -> None:
        self._current, self._batches = current, Batches()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The best items for the owner of a history, which is forgotten with the answer."""
        kind = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
        if not kind.startswith(b"application/json"):
            raise HTTPException(415, "send application/json")
        message = await receive()  # whole: the limits have seen to it
        asked = RecommendRequest.model_validate_json(message.get("body", b""))
        prepared = self._current.served.prepared
        found = await self._batches.recommend(prepared, prepared.person(asked))
        await _listed(found, prepared.digest)(scope, receive, send)


def _lists(current: Current) -> list[Route]:
    async def similar(request: Request) -> Response:
        asked, prepared = _query(SimilarQuery, request), current.served.prepared
        found = await asyncio.to_thread(prepared.model.similar, asked.item, asked.n)  # looks at all factors
        return _listed(found, prepared.digest)

    async def items(request: Request) -> Response:
        asked, prepared = _query(SearchQuery, request), current.served.prepared
        found = prepared.search.find(asked.search)
        content = {"items": prepared.items(found[: asked.n]), "found": len(found), "model": prepared.digest}
        return JSONResponse(content, headers=PRIVATE)

    return [
        Route("/recommend", _Recommend(current), methods=["POST"]),
        Route("/similar", similar),
        Route("/items", items),
    ]


def _about(current: Current, metrics: Metrics) -> list[Route]:
    async def statement(_: Request) -> Response:
        return Response(current.served.statement, media_type="application/json")

    async def statement_page(_: Request) -> Response:
        return Response(current.served.statement_page, media_type="text/html")

    async def live(_: Request) -> Response:
        return JSONResponse({"live": True})

    async def ready(_: Request) -> Response:
        prepared = current.served.prepared
        return JSONResponse({"ready": True, "model": prepared.digest, "items": len(prepared.model.catalogue)})

    async def counted(_: Request) -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    async def described(_: Request) -> Response:
        return JSONResponse(interface())

    return [
        Route("/statement", statement),
        Route("/statement.html", statement_page),
        Route("/health/live", live),
        Route("/health/ready", ready),
        Route("/metrics", counted),
        Route("/openapi.json", described),
    ]


def _page(current: Current) -> Callable[[Request], Awaitable[Response]]:
    """Hands out the page's files from memory."""

    async def file(request: Request) -> Response:
        found = current.served.page.get(request.path_params.get("name", INDEX))
        if found is None:
            raise HTTPException(404, "there is nothing here")
        headers = SENT_WITH | {"etag": f'"{found.digest}"', "vary": "accept-encoding"}
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        content = found.content
        if found.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            content, headers = found.packed, headers | {"content-encoding": "gzip"}
        return Response(content, headers=headers, media_type=found.media_type)

    return file


def _listed(found: Recommendations, digest: str) -> Response:
    content = found.to_dict() | {"notes": list(found.notes), "model": digest}
    return JSONResponse(content, headers=PRIVATE)


def _query(kind: type[Q], request: Request) -> Q:
    return kind.model_validate(dict(request.query_params))
