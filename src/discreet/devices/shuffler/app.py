"""The shuffler's web interface: devices find here what a collector would tell them, and leave their envelopes."""

from __future__ import annotations

import asyncio
import sys
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Annotated

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from discreet.devices.collector.health import add_health_routes
from discreet.devices.collector.limits import presents
from discreet.devices.collector.messages import MAX_ROUND, TaskName
from discreet.devices.collector.refusals import add_errors
from discreet.devices.collector.refused import OVERLOADED, Refused
from discreet.devices.collector.writer import Overloaded
from discreet.devices.device.question import DEVICE_ID_BYTES
from discreet.devices.device.shuffled import ENVELOPE_BYTES, SEALED_BYTES, envelope_info
from discreet.devices.device.transport import CollectorRefused, Unreachable
from discreet.devices.sealing import Opener
from discreet.devices.shuffler.collector import Upstream
from discreet.devices.shuffler.mixer import MixedTask, Mixer
from discreet.devices.shuffler.settings import ShufflerSettings
from discreet.devices.shuffler.store import Kept, ShufflerStore
from discreet.devices.shuffler.writer import Writer
from discreet.operations import Counts, Gauge, Log, prometheus

__all__ = ["Envelope", "make_app"]

JSON, OCTETS = "application/json", "application/octet-stream"
BODIES = 4  # released rounds that are kept at hand
NOT_NOW = "the collector cannot be reached now; try again later"


class Envelope(BaseModel):
    """What a device sends: an answer sealed to the collector, with the device's pseudonym sealed to the shuffler."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    task: TaskName
    round: Annotated[int, Field(ge=1, le=MAX_ROUND)]
    envelope: Annotated[str, Field(pattern=rf"^[0-9a-f]{{{2 * ENVELOPE_BYTES}}}$")]


class _State:
    """What requests share; store, writer and mixer are made when the server starts, in its own loop."""

    def __init__(self, settings: ShufflerSettings, opener: Opener, counts: Counts) -> None:
        self.settings, self.opener, self.counts = settings, opener, counts
        self.log = Log("shuffler", sys.stderr if settings.log else None)
        self.upstream = Upstream(settings)
        self.bodies: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self.fetching = asyncio.Lock()
        self.store: ShufflerStore
        self.writer: Writer
        self.mixer: Mixer

    @asynccontextmanager
    async def live(self, _: FastAPI) -> AsyncIterator[None]:
        self.store = ShufflerStore(self.settings.store)
        self.writer = Writer(self.store)
        self.mixer = Mixer(self.store, self.upstream, self.settings.batch, self.settings.every, self.log)
        self.log.say("started", batch=self.settings.batch)
        working = asyncio.ensure_future(self._work())
        try:
            yield
        finally:
            working.cancel()
            with suppress(asyncio.CancelledError):
                await working
            await self.writer.stop()
            self.store.close()
            self.log.sum_up(self.counts)
            self.log.say("stopped")

    async def _work(self) -> None:
        while True:
            looking = asyncio.ensure_future(asyncio.to_thread(self.mixer.look))
            try:
                await asyncio.shield(looking)
            except asyncio.CancelledError:
                await looking  # a thread cannot be stopped; the store must stay open for it
                raise
            except Exception as error:  # a full disk, say: what waits stays, and is tried again
                self.log.say("mixing failed", why=str(error))
            self.log.sum_up(self.counts)
            await asyncio.sleep(self.settings.tick)

    def admit(self, request: Request, token: str | None, *others: str | None) -> None:
        """Refuse who presents none of the tokens; without the first all may pass."""
        if not presents(request.headers.get("authorization", "").encode(), token, *others):
            raise Refused(401, "this needs a token: Authorization: Bearer ...")

    def task(self, name: str) -> MixedTask:
        """The task of that name, if its answers are shuffled here and nothing is wrong with it."""
        task = self.mixer.tasks.get(name)
        if task is None and self.mixer.trouble is not None:
            raise Refused(503, NOT_NOW, retry_after=5)
        if task is None:
            raise Refused(404, "there is no such task here")
        if task.trouble is not None:
            raise Refused(409, f"this shuffler takes no answers: {task.trouble}")
        return task

    def why_not_ready(self) -> str | None:
        """Why no report can be kept or handed on now, in words."""
        return self.writer.trouble or self.mixer.trouble

    async def released(self, task: str, number: int) -> bytes:
        """What a round released, from the collector, or from memory if it was asked for lately."""
        key = (task, number)
        async with self.fetching:  # a crowd that asks at once is answered by one request
            if key not in self.bodies:
                try:
                    self.bodies[key] = await asyncio.to_thread(self.upstream.released, task, number)
                except CollectorRefused as refused:
                    raise Refused(refused.status, "this round is not released") from None
                except Unreachable:
                    raise Refused(503, NOT_NOW, retry_after=5) from None
            self.bodies.move_to_end(key)
            body = self.bodies[key]
            while len(self.bodies) > BODIES:
                self.bodies.popitem(last=False)
        return body

    async def keep(self, sent: Envelope) -> None:
        """Open an envelope as far as the shuffler can, and keep what is in it."""
        question = self.task(sent.task).question
        if question is None or sent.round < question.round:
            raise Refused(410, "this round takes no more reports")
        if sent.round > question.round:
            raise Refused(409, "this round is not open yet")
        inside = self.opener.open(bytes.fromhex(sent.envelope), envelope_info(sent.task, sent.round))
        if inside is None or len(inside) != DEVICE_ID_BYTES + SEALED_BYTES:
            raise Refused(422, "the envelope cannot be opened: it is not sealed to this shuffler's key")
        device, sealed = inside[:DEVICE_ID_BYTES], inside[DEVICE_ID_BYTES:]
        if not question.takes_part(device):
            raise Refused(403, "this round's question is for other devices")
        try:
            await self.writer.keep(Kept(sent.task, sent.round, device, sealed))
        except Overloaded:
            raise Refused(*OVERLOADED) from None

    async def metrics(self) -> str:
        """All counts, for the operator."""
        gauges = [
            Gauge("ready", "1 if reports can be kept and handed on.", int(self.why_not_ready() is None))
        ]
        for name, task in sorted(self.mixer.tasks.items()):
            number = 0 if task.question is None else task.question.round
            waiting = await asyncio.to_thread(self.store.waiting, name, number)
            gauges.append(
                Gauge("waiting_reports", "Reports that wait to be mixed.", waiting, (("task", name),))
            )
        return prometheus("discreet_shuffler", self.counts, gauges)


def make_app(settings: ShufflerSettings, opener: Opener, counts: Counts) -> FastAPI:
    """The application; limits on rate and size are put around it when it is served."""
    state = _State(settings, opener, counts)
    app = FastAPI(
        title="discreet shuffler", lifespan=state.live, docs_url=None, redoc_url=None, openapi_url=None
    )
    add_errors(app, counts)
    add_health_routes(app, state.why_not_ready)
    _add_device_routes(app, state)

    @app.get("/metrics")
    async def metrics(request: Request) -> PlainTextResponse:
        state.admit(request, settings.token)
        return PlainTextResponse(await state.metrics(), media_type="text/plain; version=0.0.4")

    return app


def _add_device_routes(app: FastAPI, state: _State) -> None:
    settings = state.settings

    @app.get("/v1/tasks/{task}")
    async def terms(task: str) -> Response:
        raise Refused(403, "answers go through this shuffler, sealed: join with the collector's key")

    @app.get("/v1/tasks/{task}/shuffle")
    async def offer(task: str, request: Request) -> Response:
        state.admit(request, settings.device_token, settings.token)
        state.task(task)
        said = await asyncio.to_thread(state.mixer.offered, task, state.opener.public_key)
        return Response(said, media_type=JSON)

    @app.get("/v1/tasks/{task}/question")
    async def question(task: str, request: Request) -> Response:
        state.admit(request, settings.device_token, settings.token)
        asked = state.task(task).question
        if asked is None:
            raise Refused(410, "the task has ended; its last round is released")
        return Response(asked.to_json(), media_type=JSON)

    @app.get("/v1/tasks/{task}/released/{number}")
    async def released(task: str, number: int, request: Request) -> Response:
        state.admit(request, settings.device_token, settings.token)
        state.task(task)
        if not 1 <= number <= MAX_ROUND:
            raise Refused(404, "this round is not released")
        return Response(await state.released(task, number), media_type=OCTETS)

    @app.post("/v1/reports")
    async def reports(request: Request) -> JSONResponse:
        state.admit(request, settings.device_token)
        if not request.headers.get("content-type", "").startswith(JSON):
            raise Refused(415, "a report is application/json")
        await state.keep(Envelope.model_validate_json(await request.body()))
        state.counts.accepted += 1
        return JSONResponse({"accepted": True})
