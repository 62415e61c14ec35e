"""One task as it stands, and how it is read from the store."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np
from pydantic import ValidationError

from discreet.devices.collector import store as stored
from discreet.devices.collector.messages import explain
from discreet.devices.collector.refused import Refused
from discreet.devices.collector.store import RoundRow, Store, StoredTask
from discreet.devices.collector.task_config import TaskConfig
from discreet.devices.device.question import Question
from discreet.devices.learner import Estimate, Learner
from discreet.errors import DiscreetError, SettingsInvalid

__all__ = ["Task", "read_tasks"]


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
            raise Refused(410, "the task has ended; its last round is released")
        return self.question.to_json().encode()


def read_tasks(store: Store) -> list[tuple[Task, bool]]:
    """All stored tasks as they stand, each with whether its round is sealed and waits to be counted."""
    found = []
    try:
        with closing(store.connect()) as reader:
            for row in stored.tasks(reader):
                rounds = stored.rounds(reader, row.id)
                found.append((_restore(row, rounds, store), bool(rounds) and rounds[-1].state == "counting"))
    except sqlite3.DatabaseError as error:
        raise SettingsInvalid(f"{store.path} is damaged: {error}") from error
    return found


def _restore(row: StoredTask, rounds: list[RoundRow], store: Store) -> Task:
    try:
        config = TaskConfig.model_validate_json(row.config)
        if config.task != row.task:
            raise ValueError(f"its configuration names {config.task}")
        task = Task(row.id, config, config.learner(), None)
        for past in rounds:
            if past.estimate is not None:
                estimate = Estimate(np.frombuffer(past.estimate), past.reports or 0)
                task.learner = task.learner.after(estimate)
        if rounds and rounds[-1].state != "released":
            task.question = Question.from_json(rounds[-1].question)
    except (DiscreetError, ValueError) as error:
        why = explain(error.errors()) if isinstance(error, ValidationError) else str(error)
        raise SettingsInvalid(f"task {row.task} in {store.path} is damaged: {why}") from error
    return task
