"""A device's part in a task: agree to its terms once, answer each round once, recommend from what is released.

All goes over one connection, with every size limited.
"""

from __future__ import annotations

import http.client
import json
import math
import ssl
import time
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, urlsplit

from .answer import answer
from .item_side import DeviceItemSide, largest_file, recommend
from .question import Question, QuestionInvalid, Terms, TermsInvalid
from .store import DeviceStore

__all__ = [
    "PACE_SECONDS",
    "CollectorRefused",
    "Connection",
    "Outcome",
    "Unreachable",
    "answer_round",
    "fetch_released",
    "join",
    "recommend_items",
]

_SMALL = 65_536


class Unreachable(OSError):
    """The collector did not answer as one; try again later, the answer drawn stays the same."""


class CollectorRefused(ValueError):
    """The collector answered, and the answer is no."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(f"the collector refused ({status}): {why}")
        self.status = status


class Connection:
    """One connection to a collector at ``https://...``, or ``http://...`` for one on this machine."""

    def __init__(self, url: str, token: str | None = None, seconds: float = 30.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
            raise ValueError(f"{url} is not the address of a collector: http(s)://host:port")
        self._wire: http.client.HTTPConnection
        if parts.scheme == "https":
            context = ssl.create_default_context()
            self._wire = http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=seconds, context=context
            )
        elif parts.hostname in ("localhost", "127.0.0.1", "::1"):
            self._wire = http.client.HTTPConnection(parts.hostname, parts.port, timeout=seconds)
        else:
            raise ValueError(f"{url} is not on this machine: only https:// goes there")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self._wire.close()

    def get(self, path: str, limit: int = _SMALL) -> bytes:
        """What is at a path, if it has at most ``limit`` bytes."""
        return self._ask("GET", path, None, limit)

    def post(self, path: str, content: dict[str, Any]) -> bytes:
        """Send one JSON object."""
        return self._ask("POST", path, json.dumps(content, separators=(",", ":")).encode(), _SMALL)

    def _ask(self, method: str, path: str, body: bytes | None, limit: int) -> bytes:
        headers = self._headers if body is None else {**self._headers, "Content-Type": "application/json"}
        try:
            self._wire.request(method, path, body, headers)
            response = self._wire.getresponse()
            content = response.read(limit + 1)
        except (OSError, http.client.HTTPException) as error:
            self._wire.close()
            raise Unreachable(f"the collector cannot be reached: {error}") from error
        if len(content) > limit:
            self._wire.close()
            raise Unreachable(f"the collector sent over {limit} bytes")
        if response.status in (408, 429) or response.status >= 500:
            self._wire.close()
            raise Unreachable(f"the collector is busy ({response.status})")
        if response.status >= 300:
            raise CollectorRefused(response.status, content[:200].decode("utf-8", "replace"))
        return content


PACE_SECONDS = 1.0
"""An answer leaves a whole number of these after the device began to work on it."""

Result = Literal["answered", "already answered", "not asked", "too late", "task has ended"]


class Outcome(NamedTuple):
    """What came of a round, and how long this device worked on it."""

    result: Result
    round: int
    compute_ms: float


def join(
    store: DeviceStore,
    connection: Connection,
    task: str,
    most_epsilon: float,
    catalogue: str | None = None,
) -> Terms:
    """Agree to a task's terms, unless all of its answers together could cost more than ``most_epsilon``.

    A task about another item list is refused: its digest must be the one given here (:func:`.catalogue.digest`) and
    the one that this device has pinned, which is the first it saw.
    """
    if catalogue is not None:
        store.pin_catalogue(catalogue)
    terms = Terms.from_json(connection.get(f"/v1/tasks/{quote(task, safe='')}"))
    if terms.task != task:
        raise TermsInvalid("the collector sent the terms of another task")
    if not terms.epsilon <= most_epsilon:
        raise TermsInvalid(
            f"the task asks for epsilon {terms.epsilon:g}; this device gives at most {most_epsilon:g}"
        )
    store.enrol(terms)
    return terms


def answer_round(
    store: DeviceStore, connection: Connection, task: str, pace: float = PACE_SECONDS
) -> Outcome:
    """Answer the open round, at most once however often this is called or killed.

    Order matters: the bit is drawn, charged and on disk before it is sent. If sending fails, call again: the
    stored bit goes out, never another. How long the work took tells how many ratings there are, so the answer waits
    for the next multiple of ``pace`` seconds; 0 sends at once, for simulations.
    """
    if not (math.isfinite(pace) and pace >= 0.0):
        raise ValueError(f"the pace must be a finite number of seconds from 0, got {pace}")
    device = store.device(task)
    try:
        question = Question.from_json(connection.get(f"/v1/tasks/{task}/question"))
    except CollectorRefused as refused:
        if refused.status == 410:
            return Outcome("task has ended", 0, 0.0)
        raise
    if question.task != task:
        raise QuestionInvalid("the collector sent another task's question")
    side = None
    if question.kind == "factors" and question.round > 1 and question.takes_part(device):
        side = fetch_released(store, connection, task, question.round - 1)
    started = time.perf_counter()
    given = store.answer(question, lambda: answer(question, store.ratings(), device, side))
    spent = 1000.0 * (time.perf_counter() - started)
    result: Result = "not asked" if given.bit is None else "already answered"
    if given.bit is not None and not given.sent:
        _wait(started, pace)
        result = _send(connection, task, question.round, device, given.bit)
        store.mark_sent(task, question.round)
    return Outcome(result, question.round, spent)


def fetch_released(store: DeviceStore, connection: Connection, task: str, number: int) -> DeviceItemSide:
    """The item side after a round, from the device's file or else from the collector."""
    kept = store.released(task)
    if kept is not None and kept.round == number:
        return kept
    terms = store.terms(task)
    body = connection.get(f"/v1/tasks/{task}/released/{number}", largest_file(terms.items))
    side = DeviceItemSide.from_bytes(body)
    if (side.round, side.items, side.range) != (number, terms.items, terms.range):
        raise QuestionInvalid("the collector sent the item side of another round, catalogue or range")
    store.keep_released(task, body)
    return side


def recommend_items(store: DeviceStore, task: str, n: int = 10) -> list[tuple[int, float]]:
    """The best items by what was released last; nothing is sent."""
    side = store.released(task)
    if side is None:
        raise TermsInvalid("nothing has been released to this device yet")
    terms = store.terms(task)
    low, high = terms.range
    ratings = {i: v for i, v in store.ratings().items() if 0 <= i < terms.items and low <= v <= high}
    return recommend(ratings, side, terms.range, n)


def _wait(started: float, pace: float) -> None:
    if pace > 0.0:
        passed = time.perf_counter() - started
        time.sleep(max(0.0, max(1, math.ceil(passed / pace)) * pace - passed))


def _send(connection: Connection, task: str, number: int, device: bytes, bit: int) -> Result:
    try:
        connection.post("/v1/reports", {"task": task, "round": number, "device": device.hex(), "bit": bit})
    except CollectorRefused as refused:
        if refused.status == 410:
            return "too late"
        raise
    return "answered"
