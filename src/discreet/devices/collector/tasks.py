"""Tasks and their rounds: opened, sealed, counted, released once, and taken up again after a crash.

A round is open until somebody ends it and enough devices have answered. Ending seals it, in one commit: from
there on its reports cannot change. Counting follows, and one more commit stores what is released and opens the
next round. A collector that stops in between counts the sealed round again, to the same bytes.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from discreet.devices.collector import store as stored
from discreet.devices.collector.operations import Log
from discreet.devices.collector.store import Store, Writer
from discreet.devices.collector.task_config import TaskConfig
from discreet.devices.device.question import Question
from discreet.devices.estimator import Estimator
from discreet.devices.learner import Estimate, Learner
from discreet.errors import DiscreetError, SettingsInvalid
from discreet.web.server import explain

__all__ = ["Task", "Tasks", "read_tasks"]

MOST_TASKS = 1000
_COUNT = "SELECT count(*) FROM reports WHERE task = ? AND round = ?"


@dataclass
class Task:
    """One task as it stands; what it says follows from the store."""

    id: int
    config: TaskConfig
    learner: Learner
    question: Question | None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def asked(self) -> bytes:
        """The open question in its canonical form."""
        if self.question is None:
            raise HTTPException(410, "the task has ended; its last round is released")
        return self.question.to_json().encode()


def read_tasks(store: Store) -> list[tuple[Task, bool]]:
    """All stored tasks as they stand, each with whether its round is sealed and waits to be counted."""
    words = "SELECT question, state, reports, estimate FROM rounds WHERE task = ? ORDER BY round"
    try:
        found = []
        for identity, name, config in store.read("SELECT id, task, config FROM tasks ORDER BY id"):
            try:
                found.append(_restored(identity, name, config, store.read(words, identity)))
            except (DiscreetError, ValueError) as error:
                why = explain(error.errors()) if isinstance(error, ValidationError) else str(error)
                raise SettingsInvalid(f"task {name} in {store.path} is damaged: {why}") from error
        return found
    except sqlite3.DatabaseError as error:
        raise SettingsInvalid(f"{store.path} is damaged: {error}") from error


def _restored(identity: int, name: str, text: str, rounds: list[Any]) -> tuple[Task, bool]:
    config = TaskConfig.model_validate_json(text)
    if config.task != name:
        raise ValueError(f"its configuration names {config.task}")
    task, state = Task(identity, config, config.learner(), None), "released"
    for question, state, reports, estimate in rounds:
        if estimate is not None:
            task.learner = task.learner.after(Estimate(np.frombuffer(estimate), reports or 0))
        if state != "released":
            task.question = Question.from_json(question)
    return task, state == "counting"


class Tasks:
    """All tasks of a collector."""

    def __init__(self, store: Store, writer: Writer, log: Log) -> None:
        self._store, self._writer, self._log = store, writer, log
        self._tasks: dict[str, Task] = {}
        self._said: set[tuple[str, int]] = set()

    async def resume(self) -> None:
        """Go on from what is stored; a round that was being counted is counted and released."""
        for task, is_sealed in read_tasks(self._store):
            self._tasks[task.config.task] = task
            if is_sealed:
                with suppress(Exception):  # it stays sealed: ending it again says what is wrong
                    await self._release(task)

    def names(self) -> list[str]:
        """Names of all tasks."""
        return list(self._tasks)

    def get(self, name: str) -> Task:
        """The task of that name."""
        try:
            return self._tasks[name]
        except KeyError:
            raise HTTPException(404, "there is no such task") from None

    async def create(self, config: TaskConfig) -> Task:
        """Make a task and open its first round."""
        if len(self._tasks) >= MOST_TASKS:
            raise HTTPException(409, f"a collector has at most {MOST_TASKS} tasks")
        try:
            _ = config.terms
            config = config.decided()
            learner = config.learner()
            question = learner.question()
        except (DiscreetError, ValueError) as error:
            raise HTTPException(422, str(error)) from error
        assert question is not None

        def write(connection: sqlite3.Connection) -> int:
            try:
                made = connection.execute(
                    "INSERT INTO tasks(task, config) VALUES (?, ?)", (config.task, config.model_dump_json())
                )
            except sqlite3.IntegrityError:
                raise HTTPException(409, "there is a task of that name already") from None
            identity = int(made.lastrowid or 0)
            _open_round(connection, identity, question)
            return identity

        task = Task(await self._writer.run(write), config, learner, question)
        self._tasks[config.task] = task
        self._log.say("task created", task=config.task)
        return task

    async def close(self, name: str, number: int) -> int:
        """End the open round and release it; gives the number of reports in it."""
        task = self.get(name)
        async with task.lock:
            if task.question is None or task.question.round != number:
                raise HTTPException(409, f"round {number} is not open")

            def seal(connection: sqlite3.Connection) -> None:
                """From here on the round's reports cannot change."""
                ((reports,),) = connection.execute(_COUNT, (task.id, number))
                if reports < task.config.minimum:
                    why = f"{reports} reports are there; a release needs {task.config.minimum}"
                    raise HTTPException(409, why)
                words = "UPDATE rounds SET state = 'counting' WHERE task = ? AND round = ? AND state = 'open'"
                connection.execute(words, (task.id, number))

            await self._writer.run(seal)
            return await self._release(task)

    async def count(self, name: str) -> dict[str, Any]:
        """How far a task is, for the operator: its open round (0 at its end), its reports, and those of all before."""
        task, number = self.get(name), 0
        if task.question is not None:
            number = task.question.round
        ((reports,),) = await asyncio.to_thread(self._store.read, _COUNT, task.id, number)
        words = "SELECT reports FROM rounds WHERE task = ? AND state = 'released' ORDER BY round"
        released = [one for (one,) in await asyncio.to_thread(self._store.read, words, task.id)]
        content = {"task": name, "round": number, "reports": reports, "minimum": task.config.minimum}
        return {**content, "released": released}

    async def delete_reports(self, name: str) -> int:
        """Delete reports of a task's released rounds; gives how many."""
        task = self.get(name).id
        return await self._writer.run(lambda connection: stored.delete_reports(connection, task))

    async def delete(self, name: str) -> None:
        """Delete a task that has ended, with all that is known of it."""
        task = self.get(name)
        async with task.lock:
            if task.question is not None:
                why = f"round {task.question.round} of the task is open; only a task that has ended goes"
                raise HTTPException(409, why)
            await self._writer.run(lambda connection: stored.delete_task(connection, task.id))
            del self._tasks[name]
        self._log.say("task deleted", task=name)

    def released(self, name: str, number: int) -> bytes:
        """What a round released, from the store."""
        words = "SELECT released FROM rounds WHERE task = ? AND round = ? AND state = 'released'"
        for (body,) in self._store.read(words, self.get(name).id, number):
            return bytes(body)
        raise HTTPException(404, "this round is not released")

    async def apply_rules(self) -> None:
        """Do what is due without being asked; trouble of one task is logged and keeps nothing else from being done.

        A round ends when ``enough`` reports are there, or ``hours`` after the hour in which it was opened if the task's
        minimum is. Where a deadline passes with less, the round stays open, and the log says so once: nothing is ever
        released from fewer reports than the minimum.
        """
        for name in self.names():
            try:
                await self._end_if_due(name)
            except (HTTPException, DiscreetError, sqlite3.Error, OSError) as error:
                why = error.detail if isinstance(error, HTTPException) else str(error)
                self._log.say("round not ended", task=name, why=why)

    async def _end_if_due(self, name: str) -> None:
        task = self.get(name)
        config, question = task.config, task.question
        if question is None or (config.enough is None and config.hours is None):
            return
        count = await self.count(name)
        number, reports = question.round, count["reports"]
        words = "SELECT opened_hour FROM rounds WHERE task = ? AND round = ?"
        ((opened,),) = await asyncio.to_thread(self._store.read, words, task.id, number)
        full = config.enough is not None and reports >= max(config.enough, config.minimum)
        due = config.hours is not None and time.time() >= opened + 3600.0 * config.hours
        if full or (due and reports >= config.minimum):
            await self.close(name, number)
        elif due and (name, number) not in self._said:
            self._said.add((name, number))
            numbers = {"round": number, "reports": reports, "minimum": config.minimum}
            self._log.say("deadline passed", task=name, **numbers)

    async def _release(self, task: Task) -> int:
        question = task.question
        assert question is not None
        estimate, learner = await asyncio.to_thread(self._estimate, task, question)
        following, released = learner.question(), learner.released()

        def write(connection: sqlite3.Connection) -> None:
            changed = connection.execute(
                "UPDATE rounds SET state = 'released', released_hour = ?, reports = ?, estimate = ?, released = ?"
                " WHERE task = ? AND round = ? AND state = 'counting'",
                (_hour(), estimate.answers, estimate.values.tobytes(), released, task.id, question.round),
            )
            if changed.rowcount != 1:
                raise sqlite3.IntegrityError("a round can be released once only")
            if following is not None:
                _open_round(connection, task.id, following)

        await self._writer.run(write)
        task.learner, task.question = learner, following
        self._log.say("round released", task=task.config.task, round=question.round, reports=estimate.answers)
        return estimate.answers

    def _estimate(self, task: Task, question: Question) -> tuple[Estimate, Learner]:
        estimator = Estimator(question)
        for devices, bits in self._store.reports(task.id, question.round):
            estimator.add(devices, bits)
        estimate = Estimate(estimator.estimate(), estimator.answers)
        return estimate, task.learner.after(estimate)


def _open_round(connection: sqlite3.Connection, task: int, question: Question) -> None:
    connection.execute(
        "INSERT INTO rounds(task, round, question, state, opened_hour) VALUES (?, ?, ?, 'open', ?)",
        (task, question.round, question.to_json().encode(), _hour()),
    )


def _hour() -> int:
    """The present time, rounded down to the hour, in seconds since 1970."""
    return int(time.time()) // 3600 * 3600
