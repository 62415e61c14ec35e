"""The web interface. Whatever is wrong with a request is answered with a 4xx and one sentence."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from discreet.errors import DiscreetError
from discreet.model import Recommendations
from discreet.service.batches import Batches
from discreet.service.current import Current
from discreet.service.messages import LONGEST, FoundItems, Lists, RecommendRequest, Refusal, explain
from discreet.service.metrics import CONTENT_TYPE, Metrics
from discreet.service.page import add_page
from discreet.version import __version__

__all__ = ["PATHS", "listed", "make_app", "refusal"]

PATHS = frozenset(
    {"/recommend", "/similar", "/items", "/statement", "/statement.html", "/health/live", "/health/ready"}
    | {"/metrics", "/openapi.json", "/"}
)
"""Paths that metrics name."""
_PRIVATE = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_REFUSED: dict[int | str, dict[str, Any]] = {
    422: {"model": Refusal, "description": "What is wrong, in one sentence."}
}
Count = Annotated[int, Query(ge=1, le=LONGEST, description="How many items.")]


def make_app(current: Current, metrics: Metrics, *, watch: float, page: bool) -> FastAPI:
    """The application; limits, tokens and counts are put around it by :mod:`.serve`."""

    @asynccontextmanager
    async def live(_: FastAPI) -> AsyncIterator[None]:
        async with current.watched(watch):
            yield

    app = FastAPI(
        title="discreet",
        version=__version__,
        summary="Recommendations from a model that was released under differential privacy.",
        lifespan=live,
        docs_url=None,  # the usual viewers load themselves from other hosts
        redoc_url=None,
        redirect_slashes=False,
    )
    _add_errors(app)
    _add_lists(app, current)
    _add_items(app, current)
    _add_about(app, current, metrics)
    if page:
        add_page(app, current)
    return app


def _add_lists(app: FastAPI, current: Current) -> None:
    batches = app.state.batches = Batches()

    @app.post("/recommend", responses={200: {"model": Lists}, **_REFUSED})
    async def recommend(request: RecommendRequest) -> Response:
        """The best items for the owner of a history, whether they were in the training data or not.

        It costs no privacy budget, and the history is forgotten with the answer.
        """
        prepared = current.served.prepared
        return listed(await batches.recommend(prepared, prepared.person(request)), prepared.digest)

    @app.get("/similar", responses={200: {"model": Lists}, **_REFUSED})
    async def similar(item: Annotated[str, Query(max_length=1000)], n: Count = 10) -> Response:
        """The items that are most like an item."""
        prepared = current.served.prepared
        found = await asyncio.to_thread(prepared.model.similar, item, n)  # looks at all factors anew
        return listed(found, prepared.digest)


def listed(found: Recommendations, digest: str) -> Response:
    """The answer with a list."""
    content = found.to_dict() | {"notes": list(found.notes), "model": digest}
    return JSONResponse(content, headers=_PRIVATE)


def _add_items(app: FastAPI, current: Current) -> None:
    @app.get("/items", responses={200: {"model": FoundItems}, **_REFUSED})
    async def items(search: Annotated[str, Query(max_length=200)] = "", n: Count = 20) -> Response:
        """Items whose titles have all words of the search, the best known first."""
        prepared = current.served.prepared
        found = prepared.search.find(search)
        content = {"items": prepared.items(found[:n]), "found": len(found), "model": prepared.digest}
        return JSONResponse(content, headers=_PRIVATE)


def _add_about(app: FastAPI, current: Current, metrics: Metrics) -> None:
    @app.get("/statement", responses={200: {"description": "As `discreet statement --json` prints it."}})
    async def statement() -> Response:
        """What the model promises to the people in its data, what that means, and what it cost."""
        return Response(current.served.statement, media_type="application/json")

    @app.get("/statement.html", include_in_schema=False)
    async def statement_page() -> Response:
        return Response(current.served.statement_page, media_type="text/html")

    @app.get("/health/live")
    async def live() -> dict[str, bool]:
        """Whether the process answers at all."""
        return {"live": True}

    @app.get("/health/ready")
    async def ready() -> dict[str, Any]:
        """Whether there is a model to answer from, and which."""
        prepared = current.served.prepared
        return {"ready": True, "model": prepared.digest, "items": len(prepared.model.catalogue)}

    @app.get("/metrics", responses={200: {"content": {"text/plain": {}}}}, response_class=Response)
    async def counted() -> Response:
        """Counts and times for Prometheus; nothing about any person or item."""
        return Response(metrics.text(), media_type=CONTENT_TYPE)


def _add_errors(app: FastAPI) -> None:
    async def refused(_: Request, error: Exception) -> JSONResponse:
        return refusal(422, str(error))

    async def invalid(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return refusal(422, explain(error.errors()))

    async def other(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        return refusal(error.status_code, str(error.detail), dict(error.headers or {}))

    app.add_exception_handler(DiscreetError, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, other)


def refusal(status: int, why: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """The answer that says what is wrong."""
    content = json.loads(json.dumps({"error": why}).encode("utf-8", "replace"))
    return JSONResponse(content, status_code=status, headers=_PRIVATE | (headers or {}))
