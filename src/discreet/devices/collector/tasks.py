"""Tasks and their rounds: opened, sealed, counted, released once, and taken up again after a crash.

A round is open until somebody ends it and enough devices have answered. Ending seals it, in one commit: from
there on its reports cannot change. Counting follows, and one more commit stores what is released and opens the
next round. A collector that stops in between counts the sealed round again, to the same bytes.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from threading import Lock
from typing import NamedTuple
from weakref import WeakValueDictionary

from discreet.devices.collector import store as stored
from discreet.devices.collector.refused import Refused
from discreet.devices.collector.store import Counted, Store
from discreet.devices.collector.task import Task, read_tasks
from discreet.devices.collector.task_config import TaskConfig
from discreet.devices.collector.writer import Writer
from discreet.devices.device.question import Question
from discreet.devices.estimator import Estimator
from discreet.devices.learner import Estimate, Learner
from discreet.errors import DiscreetError
from discreet.operations import Log

__all__ = ["Body", "Count", "Tasks"]

MOST_TASKS = 1000


class Count(NamedTuple):
    """How far a task is: its open round (0 at its end), the hour it was opened, and reports so far."""

    round: int
    opened: int
    reports: int


class Body:
    """Bytes that never change; all who are reading them share one copy."""

    def __init__(self, content: bytes) -> None:
        self.content = content


class Tasks:
    """All tasks of a collector."""

    def __init__(self, store: Store, writer: Writer, log: Log) -> None:
        self._store, self._writer, self._log = store, writer, log
        self._tasks: dict[str, Task] = {}
        self._bodies: WeakValueDictionary[tuple[int, int], Body] = WeakValueDictionary()
        self._reading = Lock()

    async def resume(self) -> None:
        """Go on from what is stored; a round that was being counted is counted and released."""
        for task, is_sealed in read_tasks(self._store):
            self._tasks[task.config.task] = task
            if is_sealed:
                with suppress(
                    Exception
                ):  # it stays sealed: ending it again tries again, and says what is wrong
                    await self._release(task)

    def names(self) -> list[str]:
        """Names of all tasks."""
        return list(self._tasks)

    def get(self, name: str) -> Task:
        """The task of that name."""
        try:
            return self._tasks[name]
        except KeyError:
            raise Refused(404, "there is no such task") from None

    async def create(self, config: TaskConfig) -> Task:
        """Make a task and open its first round."""
        if len(self._tasks) >= MOST_TASKS:
            raise Refused(409, f"a collector has at most {MOST_TASKS} tasks")
        try:
            _ = config.terms
            config = config.decided()
            learner = config.learner()
            question = learner.question()
        except (DiscreetError, ValueError) as error:
            raise Refused(422, str(error)) from error
        assert question is not None

        def write(connection: sqlite3.Connection) -> int:
            try:
                made = connection.execute(
                    "INSERT INTO tasks(task, config) VALUES (?, ?)", (config.task, config.model_dump_json())
                )
            except sqlite3.IntegrityError:
                raise Refused(409, "there is a task of that name already") from None
            identity = int(made.lastrowid or 0)
            stored.open_round(connection, identity, question.round, question.to_json().encode())
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
                raise Refused(409, f"round {number} is not open")

            def seal(connection: sqlite3.Connection) -> None:
                reports = stored.count_reports(connection, task.id, number)
                if reports < task.config.minimum:
                    raise Refused(409, f"{reports} reports are there; a release needs {task.config.minimum}")
                stored.seal_round(connection, task.id, number)

            await self._writer.run(seal)
            return await self._release(task)

    async def count(self, name: str) -> Count:
        """How many reports the open round has; for the operator."""
        task = self.get(name)
        question = task.question
        if question is None:
            return Count(0, 0, 0)
        return await asyncio.to_thread(self._count_open, task.id, question.round)

    def _count_open(self, task: int, number: int) -> Count:
        with closing(self._store.connect()) as reader:
            opened = stored.opened_hour(reader, task, number)
            return Count(number, opened, stored.count_reports(reader, task, number))

    async def delete_reports(self, name: str | None = None, before: int | None = None) -> int:
        """Delete reports of released rounds, of one task or all, released before a time or ever; gives how many."""
        task = None if name is None else self.get(name).id
        return await self._writer.run(lambda connection: stored.delete_reports(connection, task, before))

    async def delete(self, name: str) -> None:
        """Delete a task that has ended, with all that is known of it."""
        task = self.get(name)
        async with task.lock:
            if task.question is not None:
                raise Refused(
                    409, f"round {task.question.round} of the task is open; only a task that has ended goes"
                )
            await self._writer.run(lambda connection: stored.delete_task(connection, task.id))
            del self._tasks[name]
        self._log.say("task deleted", task=name)

    def released(self, name: str, number: int) -> Body:
        """What a round released, from the store."""
        task = self.get(name).id
        return self._shared((task, number), lambda: self._read(task, number))

    def config(self, name: str) -> Body:
        """A task's configuration as JSON, item list included."""
        task = self.get(name)
        return self._shared((task.id, 0), lambda: task.config.model_dump_json().encode())

    def _shared(self, key: tuple[int, int], read: Callable[[], bytes]) -> Body:
        with self._reading:
            body = self._bodies.get(key)
            if body is None:
                body = self._bodies[key] = Body(read())
        return body

    def _read(self, task: int, number: int) -> bytes:
        reader = self._store.connect()
        try:
            row = reader.execute(
                "SELECT released FROM rounds WHERE task = ? AND round = ? AND state = 'released'",
                (task, number),
            ).fetchone()
        finally:
            reader.close()
        if row is None:
            raise Refused(404, "this round is not released")
        return bytes(row[0])

    async def _release(self, task: Task) -> int:
        question = task.question
        assert question is not None
        counted, learner = await asyncio.to_thread(self._count, task, question)
        following = learner.question()

        def write(connection: sqlite3.Connection) -> None:
            stored.release_round(connection, task.id, question.round, counted)
            if following is not None:
                stored.open_round(connection, task.id, following.round, following.to_json().encode())

        await self._writer.run(write)
        task.learner, task.question = learner, following
        self._log.say("round released", task=task.config.task, round=question.round, reports=counted.reports)
        return counted.reports

    def _count(self, task: Task, question: Question) -> tuple[Counted, Learner]:
        estimator = Estimator(question)
        reader = self._store.connect()
        try:
            for devices, bits in stored.read_reports(reader, task.id, question.round):
                estimator.add(devices, bits)
        finally:
            reader.close()
        estimate = estimator.estimate()
        learner = task.learner.after(Estimate(estimate, estimator.answers))
        return Counted(estimator.answers, estimate.tobytes(), learner.released()), learner
