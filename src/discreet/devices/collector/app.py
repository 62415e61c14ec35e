"""The collector's web interface. Whatever is wrong with a request is answered with a 4xx and one sentence."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from discreet.devices.collector.limits import answer, presents
from discreet.devices.collector.messages import Close, Report, explain
from discreet.devices.collector.settings import CollectorSettings
from discreet.devices.collector.store import Store
from discreet.devices.collector.task_config import TaskConfig
from discreet.devices.collector.tasks import Body, Refused, Task, Tasks
from discreet.devices.collector.writer import Overloaded, Verdict, Writer

__all__ = ["Reports", "make_app"]

OCTETS = "application/octet-stream"
PIECE = 65_536  # bytes of a released round that are handed over at a time
SWITCH_SECONDS = 0.0005  # the writer's thread must not wait 5 ms for its turn after each statement
ACCEPTED = b'{"accepted":true}'
REFUSALS = {
    Verdict.CHANGED: (409, "this device has already answered this round otherwise"),
    Verdict.LATE: (410, "this round takes no more reports"),
    Verdict.EARLY: (409, "this round is not open yet"),
}


class Reports:
    """``POST /v1/reports``: the one path that must be quick, so it goes past FastAPI's own machinery."""

    def __init__(self, state: _State) -> None:
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Keep one report and answer after its commit."""
        try:
            await self._keep(scope, receive)
        except Refused as refused:
            await answer(send, refused.status, {"error": refused.why})
        else:
            await answer(send, 200, ACCEPTED)

    async def _keep(self, scope: Scope, receive: Receive) -> None:
        headers = dict(scope["headers"])
        self._state.admit(headers.get(b"authorization", b""), self._state.settings.device_token)
        if not headers.get(b"content-type", b"").startswith(b"application/json"):
            raise Refused(415, "a report is application/json")
        message = await receive()
        try:
            report = Report.model_validate_json(message.get("body", b""))
        except ValidationError as error:
            raise Refused(422, explain(error.errors(include_url=False))) from None
        task = self._state.tasks.get(report.task)
        record = report.record()
        question = task.question
        if (
            question is not None and report.round > question.round
        ):  # the next may be in the store, and not asked yet
            raise Refused(*REFUSALS[Verdict.EARLY])
        if question is not None and question.round == report.round and not question.takes_part(record[:-1]):
            raise Refused(403, "this round's question is for other devices")
        try:
            verdict = await self._state.writer.keep(task.id, report.round, record)
        except Overloaded:
            raise Refused(429, "too many reports are waiting; try again later") from None
        if verdict is not Verdict.KEPT:
            raise Refused(*REFUSALS[verdict])


class _State:
    """What requests share; made when the server starts, in its own loop."""

    def __init__(self, settings: CollectorSettings) -> None:
        self.settings = settings
        self.writer: Writer
        self.tasks: Tasks

    @asynccontextmanager
    async def live(self, _: FastAPI) -> AsyncIterator[None]:
        sys.setswitchinterval(SWITCH_SECONDS)
        store = Store(self.settings.store)
        self.writer = Writer(store, asyncio.get_running_loop())
        self.tasks = Tasks(store, self.writer)
        try:
            await self.tasks.resume()
            yield
        finally:
            await asyncio.to_thread(self.writer.stop)
            store.close()

    def admit(self, header: bytes, token: str | None, other: str | None = None) -> None:
        """Refuse who presents neither ``token`` nor the ``other``, if any; without ``token`` all may pass."""
        if not presents(header, token, other):
            raise Refused(401, "this needs a token: Authorization: Bearer ...")


def make_app(settings: CollectorSettings) -> FastAPI:
    """The application; limits on rate and size are put around it by :mod:`.serve`."""
    state = _State(settings)
    app = FastAPI(
        title="discreet collector", lifespan=state.live, docs_url=None, redoc_url=None, openapi_url=None
    )
    app.router.routes.append(Route("/v1/reports", Reports(state), methods=["POST"]))
    _add_errors(app)
    _add_device_routes(app, state)
    _add_admin_routes(app, state)
    return app


def _add_device_routes(app: FastAPI, state: _State) -> None:
    def admitted(request: Request) -> Tasks:
        given = request.headers.get("authorization", "").encode()
        state.admit(given, settings.device_token, settings.token)  # whoever runs tasks may look at them
        return state.tasks

    settings = state.settings

    @app.get("/healthz")
    async def health() -> Response:
        return Response(b'{"ok":true}', media_type="application/json")

    @app.get("/v1/tasks")
    async def names(request: Request) -> JSONResponse:
        return JSONResponse({"tasks": admitted(request).names()})

    @app.get("/v1/tasks/{task}")
    async def terms(task: str, request: Request) -> Response:
        found = admitted(request).get(task)
        return Response(found.config.terms.to_json(), media_type="application/json")

    @app.get("/v1/tasks/{task}/question")
    async def question(task: str, request: Request) -> Response:
        return Response(admitted(request).get(task).asked, media_type="application/json")

    @app.get("/v1/tasks/{task}/released/{number}")
    async def released(task: str, number: int, request: Request) -> Response:
        if not 1 <= number < 1 << 31:
            raise Refused(404, "this round is not released")
        body = await asyncio.to_thread(admitted(request).released, task, number)
        return _stream(body, OCTETS)

    @app.get("/v1/tasks/{task}/config")
    async def config(task: str, request: Request) -> Response:
        body = await asyncio.to_thread(admitted(request).config, task)
        return _stream(body, "application/json")


def _stream(body: Body, media_type: str) -> Response:
    """Something that never changes, handed over as fast as the client reads."""
    headers = {
        "cache-control": "public, max-age=31536000, immutable",
        "content-length": str(len(body.content)),
    }
    return StreamingResponse(_pieces(body), media_type=media_type, headers=headers)


async def _pieces(body: Body) -> AsyncIterator[bytes]:
    """A body bit by bit, as fast as the client reads: what waits to be sent is one piece, not the whole."""
    for start in range(0, len(body.content), PIECE):
        yield body.content[start : start + PIECE]


def _add_admin_routes(app: FastAPI, state: _State) -> None:
    def admitted(request: Request) -> Tasks:
        state.admit(request.headers.get("authorization", "").encode(), state.settings.token)
        if not request.headers.get("content-type", "").startswith("application/json"):
            raise Refused(415, "send application/json")  # what a web page elsewhere cannot send unasked
        return state.tasks

    @app.post("/v1/tasks", status_code=201)
    async def create(request: Request) -> JSONResponse:
        tasks = admitted(request)
        config = await asyncio.to_thread(TaskConfig.model_validate_json, await request.body())
        return JSONResponse(_describe(await tasks.create(config)), status_code=201)

    @app.post("/v1/tasks/{task}/close")
    async def close(task: str, request: Request) -> JSONResponse:
        tasks = admitted(request)
        asked = Close.model_validate_json(await request.body())
        reports = await tasks.close(task, asked.round)
        return JSONResponse({"task": task, "released": asked.round, "reports": reports})


def _describe(task: Task) -> dict[str, Any]:
    return {"terms": json.loads(task.config.terms.to_json()), "question": json.loads(task.asked)}


def _add_errors(app: FastAPI) -> None:
    async def refused(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, Refused)
        return JSONResponse({"error": error.why}, status_code=error.status)

    async def invalid(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, ValidationError | RequestValidationError)
        return JSONResponse({"error": explain(error.errors())}, status_code=422)

    async def missing(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        return JSONResponse(
            {"error": str(error.detail)}, status_code=error.status_code, headers=error.headers
        )

    async def broken(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"error": "the store cannot be written now; try again later"}, status_code=503)

    app.add_exception_handler(Refused, refused)
    app.add_exception_handler(ValidationError, invalid)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, missing)
    app.add_exception_handler(sqlite3.Error, broken)
