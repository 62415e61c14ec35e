"""The server: it offers the current question to the silos, takes their answers, and never calls them.

    GET  /v1/RUN/question?after=DIGEST   the current question, as soon as it is another than DIGEST
    POST /v1/RUN/answer                  an answer; the response comes after it is stored for good
    POST /v1/RUN/goodbye                 the silo has heard that the run is over

The run itself lives in one thread of its own, so that nothing about it is ever done twice at the same time; the
network does not wait for it. What was not acknowledged is sent again by the silo, and is then found already stored.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from socket import socket
from typing import Any, Generic, TypeVar

from discreet.errors import DiscreetError, Refused
from discreet.silos.shared.position import RunVoid
from discreet.silos.transport.http import STATE, BadRequest, Request, Response
from discreet.silos.transport.listener import Listener
from discreet.silos.transport.operations import Operations
from discreet.silos.transport.protocols import CoordinatorSide

__all__ = ["Server", "Terms"]

C = TypeVar("C", bound=CoordinatorSide)
T = TypeVar("T")


@dataclass(frozen=True)
class Terms:
    """What the server keeps to.

    Parameters
    ----------
    run_id, fewest, largest
        Of the agreement: the run, how few may be left, and the bytes of the largest message.
    wait
        Seconds that a silo's request for the next question may wait for it.
    drop_after
        Seconds without an answer after which the run goes on without the silos it waits for; ``None``: never.
    linger
        Seconds to go on telling silos that the run has finished, unless all that were left in it have heard it.
    """

    run_id: str
    fewest: int
    largest: int
    wait: float = 20.0
    drop_after: float | None = None
    linger: float = 60.0


class Server(Generic[C]):
    """One run, offered over TLS.

    Parameters
    ----------
    begin
        Opens the run; called in the run's own thread.
    finish
        Called in that thread once the run has finished; gives the message with the model, which silos get at the end.
    context
        Of :func:`discreet.silos.transport.identity.server_context`.
    holder
        Of a pass: the silo that shows it, or a refusal.
    report
        Called with the run's status whenever it may have changed.
    operations
        Told the same, and what was answered, for whoever watches over the server.
    """

    def __init__(
        self,
        begin: Callable[[], C],
        finish: Callable[[C], bytes],
        terms: Terms,
        context: ssl.SSLContext,
        holder: Callable[[str], str],
        report: Callable[[dict[str, Any]], None] = lambda status: None,
        operations: Operations | None = None,
    ) -> None:
        self._begin, self._finish = begin, finish
        self._terms = terms
        self._report = report if operations is None else operations.also(report)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="run")
        self._listener = Listener(context, holder, terms.largest, self._respond)
        if operations is not None:
            self._listener.answered = operations.answered
        self._told: set[str] = set()
        self._handed_to: set[str] = set()
        self._question: bytes | None = None
        self._model: bytes | None = None
        self._failure: DiscreetError | None = None

    @property
    def models_sent(self) -> int:
        """How many silos were sent the model so far; one that asked twice counts once."""
        return len(self._handed_to)

    @property
    def model_bytes_sent(self) -> int:
        """Bytes of the model sent so far."""
        return len(self._model or b"") * self.models_sent

    async def run(self, listening: socket) -> None:
        """Serve until the run has finished and every silo has been told, or the time for that is over.

        Raises
        ------
        DiscreetError
            When the run has failed for good; silos were told, as far as they asked in time.
        """
        self._changed = asyncio.Condition()
        try:
            self._run = await self._in_thread(self._begin)
            await self._look()
            accepting = asyncio.create_task(self._listener.accept(listening))
            try:
                await self._go_on()
            finally:
                accepting.cancel()
                await self._listener.close()
                await self._in_thread(self._run.close)
        finally:
            self._thread.shutdown()
        if self._failure is not None:
            raise self._failure

    async def _go_on(self) -> None:
        while self._question is not None and self._failure is None:
            await self._wait_for_answers()
        if self._failure is None:
            self._model = await self._in_thread(partial(self._finish, self._run))
        await self._notify()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._terms.linger), self._changed:
                await self._changed.wait_for(lambda: self._told >= self._roster)

    async def _wait_for_answers(self) -> None:
        """Until the run is further; or drop the silos that have let the time pass.

        An answer that comes again does not bring the run further, so nobody can use up time with it.
        """
        seen = self._position
        try:
            async with asyncio.timeout(self._terms.drop_after), self._changed:
                await self._changed.wait_for(lambda: self._position != seen)
        except TimeoutError:
            await self._in_thread(self._drop_absent)
            await self._look()

    def _drop_absent(self) -> None:
        """All in one go: whatever that costs is paid once. Where too few would be left, wait on."""
        status = self._run.status()
        absent = status["waiting_for"]
        if absent and len(status["roster"]) - len(absent) >= self._terms.fewest:
            try:
                self._run.drop(*absent)
            except RunVoid as void:
                self._failure = void
            except Refused:
                pass  # too little of the budget is left: wait on

    async def _look(self) -> None:
        """See what the run asks now, and wake whoever waits for it.

        Question and status are taken in one call, so that no answer comes between them, and the end of the run is a
        position of its own: a question may be empty (prototypes), and nothing to ask is not the same as an empty one.
        """
        self._question, status, failure = await self._in_thread(self._see)
        self._failure = self._failure or failure
        self._digest = hashlib.sha256(self._question or b"").hexdigest()
        self._roster = set(status["roster"])
        self._position = (self._question is None, self._digest, status["waiting_for"], self._failure)
        self._report(status)
        await self._notify()

    def _see(self) -> tuple[bytes | None, dict[str, Any], DiscreetError | None]:
        try:
            return self._run.question(), self._run.status(), None
        except DiscreetError as error:
            return self._question, self._run.status(), error

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    async def _respond(self, silo: str, request: Request) -> Response:
        root = f"/v1/{self._terms.run_id}/"
        if not request.path.startswith(root):
            raise BadRequest(
                HTTPStatus.NOT_FOUND,
                f"this server runs {self._terms.run_id} and nothing else; compare agreements",
            )
        what = (request.method, request.path.removeprefix(root))
        if what == ("GET", "question"):
            return await self._offer(silo, request.query.get("after", ""))
        if what == ("POST", "answer"):
            return await self._take(silo, request.body)
        if what == ("POST", "goodbye"):
            return await self._take_leave(silo)
        raise BadRequest(HTTPStatus.NOT_FOUND, "there is nothing at this address")

    async def _offer(self, silo: str, after: str) -> Response:
        """The question, or word that the run is over; nothing where neither comes in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._terms.wait), self._changed:
                await self._changed.wait_for(lambda: self._is_over() or self._has_other(silo, after))
        if self._failure is not None:
            return _refusal(HTTPStatus.GONE, self._failure, "the run has failed: ")
        if self._model is not None:
            self._handed_to.add(silo)
            return Response(HTTPStatus.OK, self._model, headers={STATE: "finished"})
        if not self._has_other(silo, after):
            return Response(HTTPStatus.NO_CONTENT)
        assert self._question is not None
        return Response(HTTPStatus.OK, self._question, headers={STATE: "open"})

    async def _take(self, silo: str, answer: bytes) -> Response:
        try:
            outcome = await self._in_thread(partial(self._run.receive, silo, answer))
        except DiscreetError as error:
            return _refusal(HTTPStatus.CONFLICT, error)
        await self._look()
        return Response.words(HTTPStatus.OK, outcome)

    def _is_over(self) -> bool:
        return self._failure is not None or self._model is not None

    def _has_other(self, silo: str, digest: str) -> bool:
        """Whether there is something else to answer."""
        return self._question is not None and self._digest != digest

    async def _take_leave(self, silo: str) -> Response:
        """Remember who has heard that the run is over."""
        if not self._is_over():
            raise BadRequest(HTTPStatus.CONFLICT, "the run is not over")
        self._told.add(silo)
        await self._notify()
        return Response.words(HTTPStatus.OK, {})


def _refusal(status: HTTPStatus, error: DiscreetError, before: str = "") -> Response:
    """The words of an error."""
    return Response.words(status, {"error": f"{before}{error}"})
