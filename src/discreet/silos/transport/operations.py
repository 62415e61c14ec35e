"""What an operator sees of a server of silos: a log of JSON lines, counts, and whether it is alive and ready.

Neither log nor counts have anything of a message in them: where the run stands, who is late, and how many requests were
answered or refused, by kind. Counts and health are served on this machine alone, without TLS: the silos' own listener
talks to silos and nobody else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any, TypeVar

from discreet.errors import SettingsInvalid
from discreet.operations import Counts, Gauge, Log, prometheus
from discreet.silos.transport.http import BadRequest, Request, Response, read_request, write_response

__all__ = ["Operations"]

T = TypeVar("T")
Report = Callable[[dict[str, Any]], None]
_TEXT = "text/plain; version=0.0.4"
_WATCHED = ("state", "round", "attempt", "stage", "roster", "waiting_for")


class Operations:
    """Listens to a :class:`~discreet.silos.transport.server.Server`.

    Parameters
    ----------
    log
        Where lines go.
    port
        On 127.0.0.1, for ``/metrics``, ``/health/live`` and ``/health/ready``; 0 takes a free one, none if left out.
    """

    def __init__(self, log: Log, port: int | None = None) -> None:
        self._log, self._port = log, port
        self._counts = Counts()
        self._status: dict[str, Any] | None = None

    def also(self, report: Report) -> Report:
        """A report that is heard here as well."""

        def both(status: dict[str, Any]) -> None:
            report(status)
            self.report(status)

        return both

    def report(self, status: dict[str, Any]) -> None:
        """Remember where the run stands; the log says so when it is somewhere else."""
        before, self._status = self._status, dict(status)
        now = {name: status.get(name) for name in _WATCHED}
        if before is None or now != {name: before.get(name) for name in _WATCHED}:
            self._log.sum_up(self._counts)
            self._log.say("run", run=status.get("run"), **now)

    def answered(self, status: HTTPStatus) -> None:
        """Count one request."""
        if status < HTTPStatus.BAD_REQUEST:
            self._counts.accepted += 1
        else:
            self._counts.refuse(status)

    async def beside(self, work: Awaitable[T], ready: Callable[[int], None] = lambda port: None) -> T:
        """Do the work, and answer whoever watches for as long as it takes; ``ready`` is told the port."""
        self._log.say("started")
        try:
            if self._port is None:
                return await work
            try:
                watched = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
            except OSError as error:
                if asyncio.iscoroutine(work):
                    work.close()
                raise SettingsInvalid(f"cannot listen on 127.0.0.1:{self._port}: {error.strerror}") from error
            async with watched:
                ready(watched.sockets[0].getsockname()[1])
                return await work
        finally:
            self._log.sum_up(self._counts)
            self._log.say("stopped")

    def page(self, request: Request) -> Response:
        """What is answered to whoever watches."""
        if request.method != "GET":
            raise BadRequest(HTTPStatus.METHOD_NOT_ALLOWED, "there is nothing to send here")
        if request.path == "/health/live":
            return Response.words(HTTPStatus.OK, {"ok": True})
        if request.path == "/health/ready":
            why = self._why_not_ready()
            if why is None:
                return Response.words(HTTPStatus.OK, {"ok": True})
            return Response.words(HTTPStatus.SERVICE_UNAVAILABLE, {"error": f"not ready: {why}"})
        if request.path == "/metrics":
            return Response(HTTPStatus.OK, self._metrics().encode(), _TEXT)
        raise BadRequest(HTTPStatus.NOT_FOUND, "there is nothing at this address")

    def _why_not_ready(self) -> str | None:
        if self._status is None:
            return "the run is being opened"
        if self._status.get("state") == "failed":
            return f"the run has failed: {self._status.get('reason')}"
        return None

    def _metrics(self) -> str:
        status = self._status or {}
        gauges = [
            Gauge("ready", "1 if silos are served.", int(self._why_not_ready() is None)),
            Gauge("round", "Round of the run.", int(status.get("round") or 0)),
            Gauge("rounds", "Rounds that the run has.", int(status.get("rounds") or 0)),
            Gauge("silos", "Silos that are in the run.", len(status.get("roster") or ())),
            Gauge("silos_awaited", "Silos whose answer is awaited.", len(status.get("waiting_for") or ())),
        ]
        return prometheus("discreet_silos", self._counts, gauges, "requests_answered")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError, TimeoutError):
            try:
                response = self.page(await read_request(reader, 0))
            except BadRequest as bad:
                response = Response.words(bad.status, {"error": str(bad)})
            await write_response(writer, response)
        writer.close()
