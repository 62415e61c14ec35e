"""What the service counts, for Prometheus: requests, seconds, models exchanged. No item, title, address or history."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)


class Metrics:
    """The numbers of one process.

    ``paths`` are counted by name; all others count as one, or whoever asks for nonsense could fill the memory.
    """

    def __init__(self, paths: frozenset[str]) -> None:
        self.paths = paths
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "discreet_requests", "Requests answered.", ["path", "status"], registry=registry
        )
        self._seconds = Histogram(
            "discreet_request_seconds",
            "From the head of a request to the end of its answer.",
            ["path"],
            buckets=SECONDS,
            registry=registry,
        )
        self._open = Gauge("discreet_requests_open", "Requests being answered.", registry=registry)
        self._exchanges = Counter(
            "discreet_model_exchanges", "Attempts to serve another model.", ["outcome"], registry=registry
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
