"""The shuffler's side of a collector: what its tasks are, what they ask, and handing in batches."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from discreet.devices.device.item_side import largest_file
from discreet.devices.device.question import MAX_ITEMS, Question, QuestionInvalid
from discreet.devices.device.strict_json import read_object
from discreet.devices.device.transport import CollectorRefused, Connection, Unreachable
from discreet.devices.shuffler.settings import ShufflerSettings
from discreet.devices.shuffler.store import Piece
from discreet.errors import SettingsInvalid

__all__ = ["Upstream"]


class Upstream:
    """One collector, asked over a new connection each time; calls block."""

    def __init__(self, settings: ShufflerSettings) -> None:
        self._settings = settings
        try:
            self._connect()
        except (ValueError, OSError) as error:
            raise SettingsInvalid(str(error)) from error

    def tasks(self) -> list[str]:
        """Names of all tasks."""
        found = self._read("/v1/tasks").get("tasks")
        if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
            raise Unreachable("it answers, but not as a collector")
        return found

    def offer(self, task: str) -> dict[str, Any] | None:
        """What the collector says of a task; none for one that has no shuffler."""
        try:
            return self._read(f"/v1/tasks/{quote(task, safe='')}/shuffle")
        except CollectorRefused as refused:
            if refused.status == 404:
                return None
            raise

    def question(self, task: str) -> Question | None:
        """The open question; none when the task has ended."""
        try:
            with self._connect() as connection:
                return Question.from_json(connection.get(f"/v1/tasks/{task}/question"))
        except CollectorRefused as refused:
            if refused.status == 410:
                return None
            raise
        except QuestionInvalid as error:
            raise Unreachable(f"it answers, but not as a collector: {error}") from error

    def released(self, task: str, number: int) -> bytes:
        """The item side after a round."""
        with self._connect() as connection:
            return connection.get(f"/v1/tasks/{task}/released/{number}", largest_file(MAX_ITEMS))

    def hand_in(self, piece: Piece) -> dict[str, Any]:
        """Hand in a part of a batch; gives how many reports of it the collector kept."""
        with self._connect() as connection:
            content = {"task": piece.task, "round": piece.round, "reports": piece.reports.hex()}
            return dict(json.loads(connection.post("/v1/batches", content)))

    def _read(self, path: str) -> dict[str, Any]:
        try:
            with self._connect() as connection:
                return read_object(connection.get(path))
        except CollectorRefused:
            raise
        except ValueError as error:
            raise Unreachable(f"it answers, but not as a collector: {error}") from error

    def _connect(self) -> Connection:
        settings = self._settings
        return Connection(
            settings.collector, token=settings.collector_token, authorities=settings.authorities, seconds=60.0
        )
