"""Commands to a running collector: create a task, look at it, end a round."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from discreet.devices.device import transport
from discreet.errors import Refused, SettingsInvalid, Unreachable

__all__ = ["Admin"]


class Admin:
    """Whoever runs tasks on a collector.

    Parameters
    ----------
    url
        ``http(s)://host:port``.
    token
        What the collector wants presented, if anything.
    authorities
        File with the certificates to trust, if not the system's.
    """

    def __init__(self, url: str, token: str | None = None, authorities: str | None = None) -> None:
        self._url, self._token, self._authorities = url, token, authorities

    def tasks(self) -> list[str]:
        """Names of all tasks."""
        found = self._ask("/v1/tasks", "tasks")["tasks"]
        if not isinstance(found, list):
            raise self._not_a_collector()
        return found

    def terms(self, task: str) -> dict[str, Any]:
        """A task's terms."""
        return self._ask(f"/v1/tasks/{quote(task, safe='')}", "task")

    def question(self, task: str) -> dict[str, Any] | None:
        """The open question; none when the task has ended."""
        try:
            return self._ask(f"/v1/tasks/{quote(task, safe='')}/question", "round")
        except Refused as refused:
            if "(410)" in str(refused):
                return None
            raise

    def create(self, order: dict[str, Any]) -> dict[str, Any]:
        """Make a task and open its first round."""
        return self._ask("/v1/tasks", "terms", order)

    def close(self, task: str, number: int) -> dict[str, Any]:
        """End a round and release it."""
        return self._ask(f"/v1/tasks/{quote(task, safe='')}/close", "released", {"round": number})

    def _ask(self, path: str, wanted: str, content: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer, which has the field ``wanted`` if it is a collector's."""
        try:
            with transport.Connection(
                self._url, token=self._token, authorities=self._authorities, seconds=600.0
            ) as connection:
                body = connection.get(path) if content is None else connection.post(path, content)
        except transport.CollectorRefused as refused:
            raise Refused(str(refused)) from refused
        except transport.Unreachable as error:
            raise Unreachable(str(error)) from error
        except ValueError as error:
            raise SettingsInvalid(str(error)) from error
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            raise self._not_a_collector() from None
        if not isinstance(answer, dict) or wanted not in answer:
            raise self._not_a_collector()
        return answer

    def _not_a_collector(self) -> Unreachable:
        return Unreachable(f"{self._url} is not a collector: it answers, but not as one")
