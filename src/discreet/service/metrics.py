"""What the service counts, for Prometheus: requests, seconds, models exchanged. No item, title, address or history."""

from __future__ import annotations

import logging
import time
import traceback

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.devices.collector.limits import answer

__all__ = ["CONTENT_TYPE", "Measured", "Metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
log = logging.getLogger("discreet.service")


class Metrics:
    """The numbers of one process.

    Parameters
    ----------
    paths
        Those that are counted by name; all others count as one, or whoever asks for nonsense could fill the memory.
    """

    def __init__(self, paths: frozenset[str]) -> None:
        self.paths = paths
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "discreet_requests", "Requests answered.", ["path", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "discreet_request_seconds",
            "From the head of a request to the end of its answer.",
            ["path"],
            buckets=SECONDS,
            registry=self._registry,
        )
        self._open = Gauge("discreet_requests_open", "Requests being answered.", registry=self._registry)
        self._exchanges = Counter(
            "discreet_model_exchanges",
            "Attempts to serve another model.",
            ["outcome"],
            registry=self._registry,
        )
        for outcome in ("served", "refused"):
            self._exchanges.labels(outcome)

    def began(self) -> None:
        """A request's head is there."""
        self._open.inc()

    def ended(self, path: str, status: int, seconds: float) -> None:
        """Its answer has been handed over."""
        self._open.dec()
        name = path if path in self.paths else "other"
        self._requests.labels(name, str(status)).inc()
        self._seconds.labels(name).observe(seconds)

    def exchanged(self, fine: bool) -> None:
        """Another model was found in the folder, and is served or was refused."""
        self._exchanges.labels("served" if fine else "refused").inc()

    def text(self) -> bytes:
        """All numbers in Prometheus' own format."""
        return bytes(generate_latest(self._registry))


class Measured:
    """ASGI layer around everything else: counts, and turns a fault of ours into a 500 that tells nobody anything.

    A traceback may show what was being worked on, so the log gets the kind of the error and its place alone.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count its answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, start = 0, time.perf_counter()

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._metrics.began()
        try:
            await self._app(scope, receive, noted)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            log.error("%s in %s, line %s", type(error).__name__, place.filename, place.lineno)
            if not status:
                await answer(noted, 500, {"error": "this is our fault; it was logged, without the request"})
        finally:
            self._metrics.ended(scope["path"], status, time.perf_counter() - start)
