"""What an operator sees of a running service: counts as Prometheus text, and a log of JSON lines.

Neither has an address, a pseudonym, an answer, a path or a token in it: a refusal is counted by its kind alone. Counts
of reports are the operator's own: asking for them needs the operator's token.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable
from typing import IO, Any, NamedTuple

__all__ = ["KINDS", "Counts", "Gauge", "Log", "prometheus"]

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

    def refuse(self, status: int) -> None:
        """Count one refusal by its kind."""
        self.refused[KINDS.get(status, "other")] += 1


class Gauge(NamedTuple):
    """One number to show: name, what it is, labels and the number itself."""

    name: str
    help: str
    value: int
    labels: tuple[tuple[str, str], ...] = ()


def prometheus(
    prefix: str, counts: Counts, gauges: Iterable[Gauge], accepted: str = "reports_accepted"
) -> str:
    """Counts and gauges in Prometheus' text format; ``accepted`` names the count of what was not refused."""
    lines = [
        f"# HELP {prefix}_{accepted}_total Answered with yes since the start, repeats included.",
        f"# TYPE {prefix}_{accepted}_total counter",
        f"{prefix}_{accepted}_total {counts.accepted}",
        f"# HELP {prefix}_requests_refused_total Requests refused since the start, by kind.",
        f"# TYPE {prefix}_requests_refused_total counter",
    ]
    known = sorted({*KINDS.values(), "other"})
    lines += [f'{prefix}_requests_refused_total{{kind="{kind}"}} {counts.refused[kind]}' for kind in known]
    said = set()
    for gauge in gauges:
        if gauge.name not in said:
            said.add(gauge.name)
            lines += [
                f"# HELP {prefix}_{gauge.name} {gauge.help}",
                f"# TYPE {prefix}_{gauge.name} gauge",
            ]
        labels = ",".join(f'{name}="{value}"' for name, value in gauge.labels)
        lines.append(f"{prefix}_{gauge.name}{f'{{{labels}}}' if labels else ''} {gauge.value}")
    return "\n".join(lines) + "\n"


class Log:
    """One JSON object a line: time, event, and numbers or names of tasks.

    Parameters
    ----------
    service
        Whose log it is.
    stream
        Where to; standard error if left out, nowhere if ``None`` is given.
    """

    def __init__(self, service: str, stream: IO[str] | None = sys.stderr) -> None:
        self._service, self._stream = service, stream
        self._told: dict[str, int] = {}

    def say(self, event: str, **fields: Any) -> None:
        """Write one line."""
        if self._stream is None:
            return
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}Z"
        line = json.dumps({"time": stamp, "service": self._service, "event": event, **fields})
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
