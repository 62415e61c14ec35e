"""Commands to a running collector: create a task, look at it, end a round, fetch what was released as a model."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from pydantic import ValidationError

from discreet.devices.collector.task_config import TaskConfig, explain
from discreet.devices.device import transport
from discreet.devices.device.item_side import largest_file
from discreet.devices.device.question import MAX_ITEMS, Question, QuestionInvalid
from discreet.devices.popularity import popularity_list
from discreet.devices.schedule import METHOD
from discreet.devices.statement import state_task
from discreet.errors import ModelInvalid, Refused, SettingsInvalid, Unreachable
from discreet.model import Model
from discreet.model.item_weights import AnySide
from discreet.model.wire import item_side_from_bytes

__all__ = ["Admin", "fetch_model"]

_LARGEST_CONFIG = 1 << 30


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
        return self._ask(self._path(task), "task")

    def config(self, task: str) -> TaskConfig:
        """A task's configuration, its item list included."""
        body = self._fetch(self._path(task, "/config"), _LARGEST_CONFIG)
        try:
            return TaskConfig.model_validate_json(body)
        except ValidationError as error:
            raise self._not_a_collector(explain(error)) from None

    def question(self, task: str) -> Question | None:
        """The open question; none when the task has ended."""
        try:
            return Question.from_json(self._fetch(self._path(task, "/question")))
        except Refused as refused:
            if "(410)" in str(refused):
                return None
            raise
        except QuestionInvalid as error:
            raise self._not_a_collector(str(error)) from None

    def released(self, task: str, number: int) -> bytes:
        """The item side after a round, as devices download it."""
        return self._fetch(self._path(task, f"/released/{number}"), largest_file(MAX_ITEMS))

    def create(self, config: TaskConfig) -> dict[str, Any]:
        """Make a task and open its first round."""
        self._check_token()
        return self._ask("/v1/tasks", "terms", config.model_dump(mode="json"))

    def close(self, task: str, number: int) -> dict[str, Any]:
        """End a round and release it."""
        return self._ask(self._path(task, "/close"), "released", {"round": number})

    def count(self, task: str) -> dict[str, Any]:
        """The open round and its number of reports."""
        return self._ask(self._path(task, "/count"), "reports")

    def delete(self, task: str, what: str) -> dict[str, Any]:
        """Delete a task's ``reports`` of released rounds, or the whole ``task``."""
        return self._ask(self._path(task, "/delete"), "deleted", {"what": what})

    def _check_token(self) -> None:
        """Say so where the token is wrong, before a long item list is sent and cut off halfway."""
        try:
            self._fetch("/metrics", 1 << 24)  # for the same token; to be refused would count as a refusal
        except Refused as refused:
            if "(401)" in str(refused):
                raise

    def _path(self, task: str, rest: str = "") -> str:
        return f"/v1/tasks/{quote(task, safe='')}{rest}"

    def _fetch(self, path: str, limit: int | None = None, content: dict[str, Any] | None = None) -> bytes:
        try:
            with transport.Connection(
                self._url, token=self._token, authorities=self._authorities, seconds=600.0
            ) as connection:
                if content is not None:
                    return connection.post(path, content)
                return connection.get(path) if limit is None else connection.get(path, limit)
        except transport.CollectorRefused as refused:
            raise Refused(str(refused)) from refused
        except transport.Unreachable as error:
            raise Unreachable(str(error)) from error
        except ValueError as error:
            raise SettingsInvalid(str(error)) from error

    def _ask(self, path: str, wanted: str, content: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer, which has the field ``wanted`` if it is a collector's."""
        body = self._fetch(path, content=content)
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            raise self._not_a_collector() from None
        if not isinstance(answer, dict) or wanted not in answer:
            raise self._not_a_collector()
        return answer

    def _not_a_collector(self, why: str = "") -> Unreachable:
        more = f" ({why})" if why else ""
        return Unreachable(f"{self._url} is not a collector: it answers, but not as one{more}")


def fetch_model(admin: Admin, task: str) -> Model:
    """The model of a task's last released round, with the person's own item ids and titles.

    Where rounds are still to come, the model is of those that were released, and the statement counts the open one
    as well: devices may have answered it. Of a task about popularity the numbers of reports, which are the operator's
    own, go into the model as the noise that they leave.

    Raises
    ------
    SettingsInvalid
        Before the first release.
    ModelInvalid
        When what the collector sends does not fit its own configuration.
    """
    config = admin.config(task)
    schedule = config.learner().schedule
    question = admin.question(task)
    asked = len(schedule.steps) if question is None else question.round
    released = asked if question is None else asked - 1
    if released == 0:
        raise SettingsInvalid(f"round 1 of task {task} is not released yet, so there is no model")
    found = item_side_from_bytes(admin.released(task, released))
    side: AnySide = found
    if side.scale.range != config.range:
        raise ModelInvalid(f"the collector's item side rates from {side.scale}, not as task {task} does")
    if config.settings.goal == "rank":
        (*counts,) = admin.count(task)["released"]
        side = popularity_list(found, schedule.cost, sum(counts[:released]))
    return Model(side, config.items, state_task(schedule, asked), METHOD, config.settings.model_dump())
