"""The collector's web interface. Whatever is wrong with a request is answered with a 4xx and one sentence."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Annotated

from pydantic import Field
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from discreet.devices.collector.operations import Counts, Log, Numbers
from discreet.devices.collector.store import EARLY, Store, Writer
from discreet.devices.collector.task_config import Close, Delete, Report, TaskConfig
from discreet.devices.collector.tasks import Tasks, read_tasks
from discreet.errors import SettingsInvalid
from discreet.web.metrics import CONTENT_TYPE
from discreet.web.server import REFUSALS, Limits, Measured, ServerSettings, presents, refusal, run_server

__all__ = ["CollectorSettings", "make_app", "serve"]

SWITCH_SECONDS = 0.0005  # the writer's thread must not wait 5 ms for its turn after each statement
LARGEST_TASK = 1 << 28
"""Most bytes in a request that creates a task, item list included, from whoever may create tasks."""
_FOR_EVER = {"cache-control": "public, max-age=31536000, immutable"}
# Whoever can read a page's traffic can change the page, so that a name of the network needs encryption.
_ORIGIN = re.compile(
    r"(https://[a-z0-9.-]{1,253}|http://(localhost|127\.0\.0\.1))(:[1-9][0-9]{0,4})?", re.ASCII
)


class CollectorSettings(ServerSettings):
    """How to serve a collector; beside what any server needs:

    Parameters
    ----------
    store
        The file that holds everything.
    behind_proxy
        Whether a proxy in front of it ends TLS; without one it listens on this machine alone.
    device_token
        What devices must present, if anything; ``token`` is for whoever commands it.
    allow_origin
        Origins of web pages that may be devices, each like ``https://shop.example``; none unless they are named.
    log, tick
        Write a log of JSON lines to standard error; seconds between two looks at what is due.
    """

    store: Path
    port: Annotated[int, Field(ge=0, le=65535)] = 8642
    behind_proxy: bool = False
    device_token: str | None = None
    allow_origin: tuple[str, ...] = ()
    largest_body: Annotated[int, Field(ge=256)] = 16_384
    log: bool = False
    tick: Annotated[float, Field(gt=0)] = 10.0

    def check(self) -> None:
        """Refuse to listen where others could read or command without leave."""
        wanted = "--behind-proxy, where something in front of it ends TLS, and --token-file"
        self.check_listening(self.behind_proxy and self.token is not None, wanted, self.device_token)
        for origin in self.allow_origin:
            if _ORIGIN.fullmatch(origin) is None:
                raise SettingsInvalid(
                    f"--allow-origin {origin}: name one origin as browsers do, such as https://shop.example; http"
                    " for this machine alone"
                )
        if self.allow_origin and self.token is None:
            raise SettingsInvalid(
                "--allow-origin needs --token-file: without a token, pages of that origin could command this service"
            )


def serve(settings: CollectorSettings, ready: Callable[[str], None] = lambda address: None) -> None:
    """Serve until told to stop; ``ready`` is called with the address when it is bound."""
    settings.check()
    logging.basicConfig(format="%(asctime)s %(message)s")
    counts = Counts()

    def check() -> None:
        """A store that cannot be used is a person's mistake, not a failed start."""
        with closing(Store(settings.store)) as store:
            read_tasks(store)

    def limit(scope: Scope) -> int:
        """Only who may create tasks can send a whole item list."""
        headers = dict(scope["headers"])
        creates = scope["method"] == "POST" and scope["path"] == "/v1/tasks"
        may = creates and _is_json(headers) and presents(headers, settings.token)
        return LARGEST_TASK if may else settings.largest_body

    bodies = Limits(make_app(settings, counts), limit, local=settings.token is None)
    run_server(settings, Measured(bodies, counts), ready, check)


def make_app(settings: CollectorSettings, counts: Counts) -> Starlette:
    """The application; limits on size are put around it by `serve`, with the same ``counts``."""
    collector = _Collector(settings, counts)
    # A browser lets a page of one origin read what another says only if that other names it (CORS). Requests are
    # neither authenticated nor limited by it: tokens and limits hold for pages as for everybody. No cookies.
    pages = Middleware(
        CORSMiddleware,
        allow_origins=settings.allow_origin,
        allow_methods=("GET", "POST"),
        allow_headers=("authorization", "content-type"),
        max_age=600,
    )
    return Starlette(
        routes=collector.routes(),
        lifespan=collector.live,
        exception_handlers={**REFUSALS, sqlite3.Error: _not_written},
        middleware=[pages] if settings.allow_origin else [],
    )


class _Collector:
    """What requests share: store, writer, tasks, counts and log. They are made when the server starts, in its loop."""

    def __init__(self, settings: CollectorSettings, counts: Counts) -> None:
        self.settings, self.counts = settings, counts
        self.log = Log(sys.stderr if settings.log else None)
        self.writer: Writer
        self.tasks: Tasks

    def routes(self) -> list[Route]:
        """For devices, for whoever runs tasks, and for whoever watches."""
        one = "/v1/tasks/{task}"
        return [
            Route("/v1/reports", self.report, methods=["POST"]),
            Route("/v1/tasks", self.names),
            Route("/v1/tasks", self.create, methods=["POST"]),
            Route(one, self.terms),
            Route(f"{one}/question", self.question),
            Route(f"{one}/released/{{number:int}}", self.released),
            Route(f"{one}/config", self.config),
            Route(f"{one}/close", self.close, methods=["POST"]),
            Route(f"{one}/count", self.count),
            Route(f"{one}/delete", self.delete, methods=["POST"]),
            Route("/metrics", self.metrics),
            Route("/healthz", self.alive),
            Route("/health/live", self.alive),
            Route("/health/ready", self.ready),
        ]

    @asynccontextmanager
    async def live(self, _: Starlette) -> AsyncIterator[None]:
        """Everything from the start of the server to its end."""
        sys.setswitchinterval(SWITCH_SECONDS)
        store = Store(self.settings.store)
        self.writer = Writer(store)
        self.tasks = Tasks(store, self.writer, self.log)
        try:
            await self.tasks.resume()
            self.log.say("started", tasks=len(self.tasks.names()))
            working = asyncio.ensure_future(self._work())
            try:
                yield
            finally:
                working.cancel()
                with suppress(asyncio.CancelledError):
                    await working
        finally:
            await self.writer.stop()
            store.close()
            self.log.sum_up(self.counts)
            self.log.say("stopped")

    async def report(self, request: Request) -> Response:
        """Keep one report and answer after its commit."""
        tasks = self._admit(request, self.settings.device_token)
        report = Report.model_validate_json(await request.body())
        task, record = tasks.get(report.task), report.record()
        question = task.question
        if question is not None and report.round > question.round:
            raise HTTPException(*EARLY)  # it may be in the store, and not asked yet
        if question is not None and question.round == report.round and not question.takes_part(record[:-1]):
            raise HTTPException(403, "this round's question is for other devices")
        refused = await self.writer.keep(task.id, report.round, record)
        if refused is not None:
            raise HTTPException(*refused)
        self.counts.accepted += 1
        return Response(b'{"accepted":true}', media_type="application/json")

    async def names(self, request: Request) -> Response:
        """All tasks."""
        return JSONResponse({"tasks": self._for_devices(request).names()})

    async def terms(self, request: Request) -> Response:
        """What devices are asked to agree to."""
        task = self._for_devices(request).get(request.path_params["task"])
        return Response(task.config.terms.to_json(), media_type="application/json")

    async def question(self, request: Request) -> Response:
        """The open question."""
        task = self._for_devices(request).get(request.path_params["task"])
        return Response(task.asked, media_type="application/json")

    async def released(self, request: Request) -> Response:
        """What a round released."""
        name, number = request.path_params["task"], request.path_params["number"]
        tasks = self._for_devices(request)
        if not 1 <= number < 1 << 31:
            raise HTTPException(404, "this round is not released")
        body = await asyncio.to_thread(tasks.released, name, number)
        return Response(body, media_type="application/octet-stream", headers=_FOR_EVER)

    async def config(self, request: Request) -> Response:
        """A task's configuration, item list included."""
        task = self._for_devices(request).get(request.path_params["task"])
        body = await asyncio.to_thread(task.config.model_dump_json)
        return Response(body, media_type="application/json", headers=_FOR_EVER)

    async def create(self, request: Request) -> Response:
        """Make a task."""
        tasks = self._for_operator(request)
        config = await asyncio.to_thread(TaskConfig.model_validate_json, await request.body())
        task = await tasks.create(config)
        content = {"terms": json.loads(task.config.terms.to_json()), "question": json.loads(task.asked)}
        return JSONResponse(content, status_code=201)

    async def close(self, request: Request) -> Response:
        """End a round and release it."""
        tasks, name = self._for_operator(request), request.path_params["task"]
        number = Close.model_validate_json(await request.body()).round
        reports = await tasks.close(name, number)
        return JSONResponse({"task": name, "released": number, "reports": reports})

    async def count(self, request: Request) -> Response:
        """How far a task is."""
        return JSONResponse(await self._for_operator(request).count(request.path_params["task"]))

    async def delete(self, request: Request) -> Response:
        """Delete reports of released rounds, or a task that has ended."""
        tasks, name = self._for_operator(request), request.path_params["task"]
        if Delete.model_validate_json(await request.body()).what == "reports":
            return JSONResponse({"task": name, "deleted": await tasks.delete_reports(name)})
        await tasks.delete(name)
        return JSONResponse({"task": name, "deleted": "task"})

    async def metrics(self, request: Request) -> Response:
        """All counts, for the operator."""
        tasks = self._for_operator(request)
        found = {name: await tasks.count(name) for name in tasks.names()}
        rounds = {name: (count["round"], count["reports"]) for name, count in found.items()}
        numbers = Numbers(self.counts, self.writer.waiting, not self.writer.failed, rounds)
        return Response(numbers.text(), media_type=CONTENT_TYPE)

    async def alive(self, _: Request) -> Response:
        """The process answers."""
        return JSONResponse({"ok": True})

    async def ready(self, _: Request) -> Response:
        """A report sent now can be kept."""
        if self.writer.failed:
            why = "not ready: the store could not be written last time"
            raise HTTPException(503, why, {"retry-after": "5"})
        return JSONResponse({"ok": True})

    async def _work(self) -> None:
        """End rounds by their rules, delete what is too old, and sum up in the log; over and over."""
        while True:
            await asyncio.sleep(self.settings.tick)
            self.log.sum_up(self.counts)
            await self.tasks.apply_rules()

    def _for_devices(self, request: Request) -> Tasks:
        """Whoever runs tasks may look at them as well."""
        return self._admit(request, self.settings.device_token, self.settings.token)

    def _for_operator(self, request: Request) -> Tasks:
        return self._admit(request, self.settings.token)

    def _admit(self, request: Request, *tokens: str | None) -> Tasks:
        headers = dict(request.scope["headers"])
        if not presents(headers, *tokens):
            raise HTTPException(401, "this needs a token: Authorization: Bearer ...")
        if request.method == "POST" and not _is_json(headers):
            raise HTTPException(415, "send application/json")  # what a web page elsewhere cannot send unasked
        return self.tasks


def _is_json(headers: dict[bytes, bytes]) -> bool:
    return headers.get(b"content-type", b"").startswith(b"application/json")


async def _not_written(_: Request, error: Exception) -> Response:
    return refusal(503, "the store cannot be written now; try again later", {"retry-after": "5"})
