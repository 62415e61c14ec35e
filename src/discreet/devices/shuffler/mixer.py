"""What the shuffler does over and over: look at the collector's rounds, mix what waits, and hand batches on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from discreet.devices.device.question import Question
from discreet.devices.device.transport import CollectorRefused, Unreachable
from discreet.devices.shuffler.collector import Upstream
from discreet.devices.shuffler.offer import Offer
from discreet.devices.shuffler.store import ShufflerStore
from discreet.errors import SettingsInvalid
from discreet.operations import Log

__all__ = ["MixedTask", "Mixer"]


@dataclass
class MixedTask:
    """A task as the shuffler sees it: what is asked now, since when nothing was handed on, and what is wrong."""

    offer: Offer
    batch: int
    question: Question | None = None
    since: float = 0.0
    trouble: str | None = None


class Mixer:
    """Blocks while it works; called in a thread of its own, one call at a time."""

    def __init__(
        self,
        store: ShufflerStore,
        upstream: Upstream,
        fewest: int,
        every: float,
        log: Log,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._upstream, self._log = store, upstream, log
        self._fewest, self._every, self._clock = fewest, every, clock
        self._turn = Lock()
        self._without: set[str] = set()
        self.tasks: dict[str, MixedTask] = {}
        self.trouble: str | None = "the collector was not reached yet"

    def look(self) -> None:
        """Do what is due now."""
        with self._turn:
            before = self.trouble
            try:
                names = self._upstream.tasks()
                for name in names:
                    self._look_at(name)
                for name in self.tasks.keys() - set(names):  # deleted by the collector
                    self._store.end(name)
                    del self.tasks[name]
                self.trouble = None
            except (Unreachable, CollectorRefused) as error:
                self.trouble = str(error)
            self._store.cut_log()
            if self.trouble != before:
                event = "collector reached" if self.trouble is None else "collector not reached"
                self._log.say(event, why=self.trouble)

    def _look_at(self, name: str) -> None:
        if name in self._without:
            return
        task = self.tasks.get(name)
        try:
            task = task or self._meet(name)
            if task is not None and task.trouble is None:
                self._go_on(name, task)
        except SettingsInvalid as error:
            self._log.say("task refused", task=name, why=str(error))
            if task is None:
                self._without.add(name)
            else:
                task.trouble = str(error)
        # Not before its question is known: a task without one has ended, and devices would be told so.
        if task is not None:
            self.tasks[name] = task

    def _meet(self, name: str) -> MixedTask | None:
        """A task that was not there before, unless it has no shuffler."""
        said = self._upstream.offer(name)
        if said is None:
            self._without.add(name)
            return None
        offer = Offer.from_fields(name, said)
        kept = self._store.pin_offer(name, offer.to_json())
        if kept != offer.to_json():
            raise SettingsInvalid(
                f"task {name}: the collector names another key or other terms than when this shuffler first saw it"
            )
        task = MixedTask(offer, max(self._fewest, offer.said.batch))
        self._log.say("task met", task=name, batch=task.batch)
        return task

    def _go_on(self, name: str, task: MixedTask) -> None:
        question = self._upstream.question(name)
        if question is None:
            if task.question is not None or self._store.next_piece(name) is not None:
                self._store.end(name)
                self._log.say("task ended", task=name)
            task.question = None
            return
        if task.question is None or question.round != task.question.round:
            self._begin(name, task, question)
        elif question != task.question:
            raise SettingsInvalid(f"task {name}: round {question.round} came with another question before")
        if self._clock() - task.since >= self._every:
            mixed = self._store.mix(name, question.round, task.batch)
            if mixed:
                task.since = self._clock()
                self._log.say("batch mixed", task=name, round=question.round, reports=mixed)
        self._hand_on(name)

    def _begin(self, name: str, task: MixedTask, question: Question) -> None:
        task.offer.check(question)
        asked = question.to_json().encode()
        if self._store.begin(name, question.round, asked) != asked:
            raise SettingsInvalid(
                f"task {name}: round {question.round} is over, or came with another question before"
            )
        task.question, task.since = question, self._clock()

    def _hand_on(self, name: str) -> None:
        kept = refused = 0
        while (piece := self._store.next_piece(name)) is not None:
            try:
                answer = self._upstream.hand_in(piece)
            except CollectorRefused as error:
                if error.status != 410:
                    raise
                answer = {"kept": 0, "refused": len(piece.reports)}
            self._store.delete_piece(piece)
            kept, refused = kept + int(answer["kept"]), refused + int(answer["refused"])
        if kept or refused:
            self._log.say("batch handed on", task=name, kept=kept, refused=refused)

    def offered(self, name: str, shuffler_key: str) -> bytes | None:
        """What devices are told of a task; none where there is no such task."""
        task = self.tasks.get(name)
        return None if task is None else json.dumps(task.offer.for_devices(shuffler_key, task.batch)).encode()
