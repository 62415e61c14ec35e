"""Commands to a running collector, and what was released as a model."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from pydantic import ValidationError

from discreet.devices.collector.task_config import TaskConfig
from discreet.devices.device import client
from discreet.devices.device.item_side import DeviceItemSide, largest_file
from discreet.devices.device.question import MAX_ITEMS, Question, QuestionInvalid
from discreet.devices.learner import as_item_side
from discreet.devices.task import model_of
from discreet.errors import ModelInvalid, Refused, SettingsInvalid, Unreachable
from discreet.model import Model
from discreet.web.server import explain

__all__ = ["Admin", "fetch_model"]

_LARGEST_CONFIG = 1 << 30


class Admin:
    """Whoever runs tasks on the collector at a URL, with the token that it wants presented, if any."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self._url, self._token = url, token

    def ask(
        self, wanted: str, task: str | None = None, rest: str = "", content: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """What a collector answers about a task, or about all; an object with the field ``wanted``."""
        body = self._fetch(_path(task, rest), content=content)
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            raise self._not_a_collector() from None
        if not isinstance(answer, dict) or wanted not in answer:
            raise self._not_a_collector()
        return answer

    def tasks(self) -> list[str]:
        """Names of all tasks."""
        found = self.ask("tasks")["tasks"]
        if not isinstance(found, list):
            raise self._not_a_collector()
        return found

    def config(self, task: str) -> TaskConfig:
        """A task's configuration, its item list included."""
        body = self._fetch(_path(task, "/config"), _LARGEST_CONFIG)
        try:
            return TaskConfig.model_validate_json(body)
        except ValidationError as error:
            raise self._not_a_collector(explain(error.errors(include_url=False))) from None

    def question(self, task: str) -> Question | None:
        """The open question; none when the task has ended."""
        try:
            return Question.from_json(self._fetch(_path(task, "/question")))
        except Refused as refused:
            if "(410)" in str(refused):
                return None
            raise
        except QuestionInvalid as error:
            raise self._not_a_collector(str(error)) from None

    def released(self, task: str, number: int) -> DeviceItemSide:
        """The item side after a round, as devices download it."""
        body = self._fetch(_path(task, f"/released/{number}"), largest_file(MAX_ITEMS))
        try:
            return DeviceItemSide.from_bytes(body)
        except QuestionInvalid as error:
            raise ModelInvalid(str(error)) from None

    def create(self, config: TaskConfig) -> dict[str, Any]:
        """Make a task and open its first round."""
        try:  # says so where the token is wrong, before a long item list is sent and cut off halfway
            self._fetch("/metrics", 1 << 24)
        except Refused as refused:
            if "(401)" in str(refused):
                raise
        return self.ask("terms", content=config.model_dump(mode="json"))

    def close(self, task: str, number: int) -> dict[str, Any]:
        """End a round and release it."""
        return self.ask("released", task, "/close", {"round": number})

    def count(self, task: str) -> dict[str, Any]:
        """The open round and its number of reports."""
        return self.ask("reports", task, "/count")

    def _fetch(self, path: str, limit: int = 65_536, content: dict[str, Any] | None = None) -> bytes:
        try:
            with client.Connection(self._url, self._token, seconds=600.0) as connection:
                return connection.get(path, limit) if content is None else connection.post(path, content)
        except client.CollectorRefused as refused:
            raise Refused(str(refused)) from refused
        except client.Unreachable as error:
            raise Unreachable(str(error)) from error
        except ValueError as error:
            raise SettingsInvalid(str(error)) from error

    def _not_a_collector(self, why: str = "") -> Unreachable:
        more = f" ({why})" if why else ""
        return Unreachable(f"{self._url} is not a collector: it answers, but not as one{more}")


def _path(task: str | None, rest: str) -> str:
    return "/v1/tasks" if task is None else f"/v1/tasks/{quote(task, safe='')}{rest}"


def fetch_model(admin: Admin, task: str) -> Model:
    """The model of a task's last released round, with the person's own item ids and titles.

    Where rounds are still to come, the statement counts the open one as well: devices may have answered it. Of a task
    about popularity the numbers of reports, which are the operator's own, go into the model as the noise they leave.
    """
    config = admin.config(task)
    schedule = config.learner().schedule
    question = admin.question(task)
    asked = len(schedule.steps) if question is None else question.round
    released = asked if question is None else asked - 1
    if released == 0:
        raise SettingsInvalid(f"round 1 of task {task} is not released yet, so there is no model")
    found = admin.released(task, released)
    if (found.round, found.items, found.range) != (released, len(config.items), config.range):
        raise ModelInvalid(f"the collector's item side is not that of task {task} after round {released}")
    counts = admin.count(task)["released"] if config.settings.goal == "rank" else []
    return model_of(as_item_side(found), config.items, schedule, asked, sum(counts[:released]))
