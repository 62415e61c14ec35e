"""What an operator sees of a running collector: counts for Prometheus, and a log of JSON lines.

Neither has an address, a pseudonym, an answer, a path or a token in it: a refusal is counted by its kind alone. Counts
of reports are the operator's own: asking for them needs the operator's token.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import IO, Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

__all__ = ["KINDS", "Counts", "Log", "Numbers"]

KINDS = {
    400: "bad_request",
    401: "no_token",
    403: "not_asked",
    404: "not_found",
    405: "wrong_method",
    408: "too_slow",
    409: "conflict",
    410: "too_late",
    413: "too_large",
    415: "wrong_type",
    421: "wrong_name",
    422: "malformed",
    503: "overloaded",
}
"""What a refusal is called in counts and logs, by the status it is answered with."""


class Counts:
    """What happened since the start; plain numbers, so that counting costs the busy path nothing."""

    def __init__(self) -> None:
        self.accepted = 0
        self.refused: Counter[str] = Counter()

    def began(self) -> None:
        """Open requests are not counted."""

    def ended(self, path: str, status: int, seconds: float) -> None:
        """Count a refusal by its kind."""
        if status >= 400:
            self.refused[KINDS.get(status, "other")] += 1


class Numbers(Collector):
    """All counts at one moment; ``rounds`` has each task's open round (0 at its end) and its number of reports."""

    def __init__(
        self, counts: Counts, waiting: int, ready: bool, rounds: Mapping[str, tuple[int, int]]
    ) -> None:
        self._counts, self._waiting, self._ready, self._rounds = counts, waiting, ready, rounds

    def text(self) -> bytes:
        """In Prometheus' own format."""
        registry = CollectorRegistry()
        registry.register(self)
        return bytes(generate_latest(registry))

    def collect(self) -> Iterator[Metric]:
        """What the registry asks for."""
        accepted = "Answered with yes since the start, repeats included."
        yield CounterMetricFamily("discreet_collector_reports_accepted", accepted, self._counts.accepted)
        refused = CounterMetricFamily(
            "discreet_collector_requests_refused",
            "Requests refused since the start, by kind.",
            labels=["kind"],
        )
        for kind in sorted({*KINDS.values(), "other"}):
            refused.add_metric([kind], self._counts.refused[kind])
        yield refused
        yield GaugeMetricFamily("discreet_collector_ready", "1 if reports can be kept.", int(self._ready))
        yield GaugeMetricFamily(
            "discreet_collector_reports_waiting", "Reports waiting for the disk.", self._waiting
        )
        number = GaugeMetricFamily(
            "discreet_collector_round", "Open round of the task; 0 at its end.", labels=["task"]
        )
        reports = GaugeMetricFamily(
            "discreet_collector_round_reports", "Reports of the open round.", labels=["task"]
        )
        for task, (open_, there) in self._rounds.items():
            number.add_metric([task], open_)
            reports.add_metric([task], there)
        yield from (number, reports)


class Log:
    """One JSON object a line: time, event, and numbers or names of tasks.

    ``stream`` is where to: nowhere if it is ``None``.
    """

    def __init__(self, stream: IO[str] | None) -> None:
        self._stream = stream
        self._told: dict[str, int] = {}

    def say(self, event: str, **fields: Any) -> None:
        """Write one line."""
        if self._stream is None:
            return
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}Z"
        line = json.dumps({"time": stamp, "service": "collector", "event": event, **fields})
        try:
            self._stream.write(line + "\n")
            self._stream.flush()
        except (OSError, ValueError):  # a log that cannot be written must not end the service
            self._stream = None

    def sum_up(self, counts: Counts) -> None:
        """Say what was counted since the last time, if anything was."""
        now = {"accepted": counts.accepted, **counts.refused}
        new = {kind: number - self._told.get(kind, 0) for kind, number in now.items()}
        new = {kind: number for kind, number in new.items() if number}
        self._told = now
        if new:
            accepted = new.pop("accepted", 0)
            self.say("counts", accepted=accepted, refused=new)
