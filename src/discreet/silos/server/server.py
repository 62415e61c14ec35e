"""The server: it offers the current question to the silos, takes their answers, and never calls them.

    GET  /v1/RUN/question?after=DIGEST   the current question, if it is another than DIGEST; the model at the end
    POST /v1/RUN/answer                  an answer; the response comes after it is stored for good
    POST /v1/RUN/goodbye                 the silo has heard that the run is over

Requests only look at what is there and store what comes. The run itself goes on in a thread of its own, so that nobody
waits for it. What was not acknowledged is sent again by the silo, and is then found already stored.
"""

from __future__ import annotations

import hashlib
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from discreet.errors import DiscreetError, Refused, SettingsInvalid
from discreet.silos.server.coordinator import Coordinator
from discreet.silos.server.prototypes import PrototypeCoordinator
from discreet.silos.shared.position import RunVoid
from discreet.silos.shared.signing import PASS, STATE, SigningKey, holder_of, open_seal
from discreet.web.server import PRIVATE, REFUSALS, quiet, refusal

__all__ = ["Server", "listen", "url_of"]

_LOOK_SECONDS = 0.5


class Server:
    """One run, offered over TLS."""

    def __init__(
        self,
        run: Coordinator | PrototypeCoordinator,
        key: SigningKey,
        finish: Callable[[], bytes],
        *,
        drop_after: float | None = None,
        linger: float = 60.0,
        report: Callable[[dict[str, Any]], None] = lambda status: None,
    ) -> None:
        self._run, self._key, self._finish = run, key, finish
        self._agreement = run.agreement
        self._drop_after, self._linger, self._report = drop_after, linger, report
        self._woken, self._stopped = threading.Event(), threading.Event()
        self._question, self._digest = b"", ""
        self._seen: object = None
        self._model: bytes | None = None
        self._failure: Exception | None = None
        self._told: set[str] = set()
        self.handed_to: set[str] = set()
        """Silos that were sent the model."""

    @property
    def model_bytes_sent(self) -> int:
        """Bytes of the model sent so far; a silo that asked twice counts once."""
        return len(self._model or b"") * len(self.handed_to)

    def serve(self, listening: socket.socket, context: ssl.SSLContext) -> None:
        """Serve until every silo has been told how the run ended, the time for that is over, or a signal comes."""
        config = quiet(self.app())
        config.load()
        config.ssl = context
        server = uvicorn.Server(config)
        work = threading.Thread(target=self._work, args=(server,), name="run")
        if threading.current_thread() is threading.main_thread():  # told to end, end as at Ctrl-C
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        work.start()
        try:
            with suppress(KeyboardInterrupt):
                server.run(sockets=[listening])
        finally:
            self.stop()
            work.join()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """End as soon as what is being done is done; started again it goes on."""
        self._stopped.set()
        self._woken.set()

    def app(self) -> Starlette:
        """What is answered to silos."""
        root = f"/v1/{self._agreement.run_id}"
        return Starlette(
            routes=[
                Route(f"{root}/question", self._offer),
                Route(f"{root}/answer", self._take, methods=["POST"]),
                Route(f"{root}/goodbye", self._take_leave, methods=["POST"]),
                Route("/{path:path}", self._elsewhere, methods=["GET", "POST"]),
            ],
            exception_handlers=REFUSALS,
        )

    def _work(self, server: uvicorn.Server) -> None:
        """Bring the run to its end, and wait until everybody knows."""
        try:
            while self._look() and not self._stopped.is_set():
                self._woken.wait(_LOOK_SECONDS)
                self._woken.clear()
            if not self._stopped.is_set() and self._failure is None:
                self._model = self._key.seal("model", self._finish())
            until = time.monotonic() + self._linger
            while not self._told >= self._roster and time.monotonic() < until and not self._stopped.is_set():
                self._woken.wait(_LOOK_SECONDS)
                self._woken.clear()
        except Exception as error:
            self._failure = error
        server.should_exit = True

    def _look(self) -> bool:
        """See what the run asks now, and drop who has let the time pass; whether there is anything to wait for."""
        try:
            question = self._run.question()
        except DiscreetError as error:
            question, self._failure = None, error
        status = self._run.status()
        self._roster = set(status["roster"])
        self._report(status)
        if question is None:
            return False
        if (question, status["waiting_for"]) != self._seen:
            self._seen, self._since = (question, status["waiting_for"]), time.monotonic()
            self._question = self._key.seal("question", question)
            self._digest = hashlib.sha256(self._question).hexdigest()
        if self._drop_after is not None and time.monotonic() > self._since + self._drop_after:
            self._since = time.monotonic()
            self._drop(status["waiting_for"], len(status["roster"]))
            self._woken.set()
        return self._failure is None

    def _drop(self, absent: list[str], roster: int) -> None:
        """All in one go: whatever that costs is paid once. Where too few would be left, wait on."""
        if absent and roster - len(absent) >= self._agreement.smallest_roster:
            try:
                self._run.drop(*absent)
            except RunVoid as void:
                self._failure = void
            except Refused:
                pass  # too little of the budget is left: wait on

    def _caller(self, request: Request) -> str:
        try:
            return holder_of(self._agreement, request.headers.get(PASS, ""))
        except Refused as refused:
            raise HTTPException(403, str(refused)) from None

    def _offer(self, request: Request) -> Response:
        """The question, or word that the run is over; nothing where there is no other than the silo knows."""
        silo = self._caller(request)
        if self._failure is not None:
            return refusal(410, f"the run has failed: {self._failure}")
        if self._model is not None:
            self.handed_to.add(silo)
            return Response(self._model, headers=PRIVATE | {STATE: "finished"})
        if self._digest in ("", request.query_params.get("after", "")):
            return Response(status_code=204, headers=PRIVATE)
        return Response(self._question, headers=PRIVATE | {STATE: "open"})

    async def _take(self, request: Request) -> Response:
        silo, most = self._caller(request), self._agreement.most_bytes
        body, declared = bytearray(), request.headers.get("content-length", "0")
        if int(declared) <= most:
            async for piece in request.stream():
                body += piece
                if len(body) > most:
                    break
        if int(declared) > most or len(body) > most:
            raise HTTPException(413, f"more than {most} bytes: no message of this run has so many")
        outcome = await run_in_threadpool(self._receive, silo, bytes(body))
        self._woken.set()
        return JSONResponse(outcome, headers=PRIVATE)

    def _receive(self, silo: str, message: bytes) -> dict[str, Any]:
        """An answer counts as the silo's that has signed it, which must be the one that shows its pass."""
        try:
            return self._run.receive(silo, open_seal(self._agreement, message, "answer", silo).body)
        except DiscreetError as refused:
            raise HTTPException(409, str(refused)) from None

    def _take_leave(self, request: Request) -> Response:
        """Remember who has heard that the run is over."""
        silo = self._caller(request)
        if self._model is None and self._failure is None:
            return refusal(409, "the run is not over")
        self._told.add(silo)
        self._woken.set()
        return JSONResponse({}, headers=PRIVATE)

    def _elsewhere(self, request: Request) -> Response:
        self._caller(request)
        return refusal(404, f"this server runs {self._agreement.run_id} and nothing else; compare agreements")


def listen(address: str) -> socket.socket:
    """A listening socket for ``HOST:PORT``; port 0 takes a free one."""
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise SettingsInvalid(
            f"{address!r} is not an address to listen on; write HOST:PORT, such as 0.0.0.0:8443"
        )
    bare = host.removeprefix("[").removesuffix("]")
    try:
        bare.encode("idna")
        return socket.create_server(
            (bare, int(port)), family=socket.AF_INET6 if ":" in bare else socket.AF_INET, backlog=64
        )
    except (OSError, UnicodeError) as error:
        raise SettingsInvalid(f"cannot listen on {address}: {error}") from None


def url_of(listener: socket.socket) -> str:
    """The address of a listening socket as silos write it."""
    host, port = listener.getsockname()[:2]
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
