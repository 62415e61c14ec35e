"""The collector's web interface. Whatever is wrong with a request is answered with a 4xx and one sentence."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import ValidationError
from starlette.types import Receive, Scope, Send

from discreet.devices.collector.admin_routes import add_admin_routes
from discreet.devices.collector.health import add_health_routes
from discreet.devices.collector.limits import answer
from discreet.devices.collector.messages import Report, explain
from discreet.devices.collector.refusals import add_errors
from discreet.devices.collector.refused import NOT_WRITTEN, OVERLOADED, Refused
from discreet.devices.collector.settings import CollectorSettings
from discreet.devices.collector.state import State
from discreet.devices.collector.tasks import Body, Tasks
from discreet.devices.collector.writer import Overloaded, Verdict
from discreet.operations import Counts

__all__ = ["Reports", "make_app"]

PATH = "/v1/reports"
OCTETS = "application/octet-stream"
PIECE = 65_536  # bytes of a released round that are handed over at a time
ACCEPTED = b'{"accepted":true}'
REFUSALS = {
    Verdict.CHANGED: (409, "this device has already answered this round otherwise"),
    Verdict.LATE: (410, "this round takes no more reports"),
    Verdict.EARLY: (409, "this round is not open yet"),
}


class Reports:
    """``POST /v1/reports``, the one path that must be quick: it goes past FastAPI's layers, ``rest`` through them."""

    def __init__(self, state: State, rest: FastAPI) -> None:
        self.state, self.rest = state, rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Keep one report and answer after its commit, or hand the request on."""
        if scope["type"] != "http" or scope["path"] != PATH or scope["method"] != "POST":
            await self.rest(scope, receive, send)
            return
        try:
            await self._keep(scope, receive)
        except Refused as refused:
            self.state.counts.refuse(refused.status)
            await answer(send, refused.status, {"error": refused.why}, retry_after=refused.retry_after)
        else:
            self.state.counts.accepted += 1
            await answer(send, 200, ACCEPTED)

    async def _keep(self, scope: Scope, receive: Receive) -> None:
        headers = dict(scope["headers"])
        self.state.admit(headers.get(b"authorization", b""), self.state.settings.device_token)
        if not headers.get(b"content-type", b"").startswith(b"application/json"):
            raise Refused(415, "a report is application/json")
        message = await receive()
        try:
            report = Report.model_validate_json(message.get("body", b""))
        except ValidationError as error:
            raise Refused(422, explain(error.errors(include_url=False))) from None
        task = self.state.tasks.get(report.task)
        record = report.record()
        question = task.question
        if (
            question is not None and report.round > question.round
        ):  # the next may be in the store, and not asked yet
            raise Refused(*REFUSALS[Verdict.EARLY])
        if question is not None and question.round == report.round and not question.takes_part(record[:-1]):
            raise Refused(403, "this round's question is for other devices")
        try:
            verdict = await self.state.writer.keep(task.id, report.round, record)
        except Overloaded:
            raise Refused(*OVERLOADED) from None
        except sqlite3.Error:
            raise Refused(*NOT_WRITTEN) from None
        if verdict is not Verdict.KEPT:
            raise Refused(*REFUSALS[verdict])


def make_app(settings: CollectorSettings, counts: Counts | None = None) -> Reports:
    """The application; limits on rate and size are put around it by :mod:`.serve`, with the same ``counts``."""
    state = State(settings, counts)
    app = FastAPI(
        title="discreet collector", lifespan=state.live, docs_url=None, redoc_url=None, openapi_url=None
    )
    add_errors(app, state.counts)
    _add_device_routes(app, state)
    add_admin_routes(app, state)
    add_health_routes(app, state.why_not_ready)
    return Reports(state, app)


def _add_device_routes(app: FastAPI, state: State) -> None:
    def admitted(request: Request) -> Tasks:
        given = request.headers.get("authorization", "").encode()
        state.admit(given, settings.device_token, settings.token)  # whoever runs tasks may look at them
        return state.tasks

    settings = state.settings

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
