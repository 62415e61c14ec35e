"""The device's own file: the person's ratings, what was agreed, and every answer given so far.

An answer is drawn once. It is written here, together with its cost, before it is sent; after a crash the same
answer is sent again, never a new one: two answers to one question would cost twice.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from .item_side import DeviceItemSide
from .question import DEVICE_ID_BYTES, Question, Terms, TermsInvalid

__all__ = ["Answer", "DeviceStore", "StoreInvalid"]

APPLICATION = 0x64736364
_SCHEMA = f"""
CREATE TABLE catalogue(pinned INTEGER PRIMARY KEY CHECK (pinned = 1), digest TEXT NOT NULL);
CREATE TABLE ratings(item INTEGER PRIMARY KEY, rating REAL NOT NULL);
CREATE TABLE cap(one INTEGER PRIMARY KEY CHECK (one = 1), epsilon REAL);
CREATE TABLE tasks(
    task TEXT PRIMARY KEY,
    device BLOB NOT NULL,
    terms TEXT NOT NULL,
    left INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE rounds(
    task TEXT NOT NULL REFERENCES tasks(task),
    round INTEGER NOT NULL,
    epsilon REAL NOT NULL,
    bit INTEGER CHECK (bit IN (0, 1)),
    sent INTEGER NOT NULL DEFAULT 0,
    asked TEXT NOT NULL,
    PRIMARY KEY (task, round)
);
CREATE TABLE released(task TEXT PRIMARY KEY REFERENCES tasks(task), body BLOB NOT NULL);
PRAGMA application_id = {APPLICATION}
"""


class StoreInvalid(ValueError):
    """The device's file cannot be used."""


class Answer(NamedTuple):
    """An answer as it was drawn: the bit, or none if the device was not asked, and whether it arrived."""

    bit: int | None
    sent: bool


class DeviceStore:
    """One person's file, at this path or to be made there. Its owner alone can read it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
            self._connection = sqlite3.connect(self.path, isolation_level=None, timeout=30.0)
        except (OSError, sqlite3.Error) as error:
            raise StoreInvalid(f"{self.path} cannot be opened: {error}") from error
        try:
            self._prepare()
        except sqlite3.Error as error:
            self._connection.close()
            raise StoreInvalid(f"{self.path} is not a device's file: {error}") from error

    def __enter__(self) -> DeviceStore:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def pin_catalogue(self, digest: str) -> None:
        """Number items by the list of this digest from now on; another than the one pinned before is refused."""
        with self._transaction() as run:
            run("INSERT OR IGNORE INTO catalogue(pinned, digest) VALUES (1, ?)", (digest,))
            (pinned,) = run("SELECT digest FROM catalogue").fetchone()
            if pinned != digest:
                raise TermsInvalid(
                    f"this is about another item list (digest {digest[:12]}...) than this device numbers its ratings"
                    f" by ({pinned[:12]}...); use another file for another list"
                )

    def rate(self, ratings: dict[int, float]) -> None:
        """Write ratings down, over what was there for these items."""
        with self._transaction() as run:
            for item, rating in ratings.items():
                run("INSERT OR REPLACE INTO ratings(item, rating) VALUES (?, ?)", (int(item), float(rating)))

    def ratings(self) -> dict[int, float]:
        """The person's ratings by item."""
        return dict(self._connection.execute("SELECT item, rating FROM ratings ORDER BY item"))

    def enrol(self, terms: Terms) -> bytes:
        """Agree to a task's terms, once; gives the pseudonym for this task, which is random.

        Ratings are by number, so all tasks of one file must be about one item list: the first one pins it. Where there
        is a cap over all tasks, what they may all spend together must stay within it.
        """
        with self._transaction() as run:
            self.pin_catalogue(terms.catalogue)
            if terms.task not in self.tasks():
                self._check_promise(terms)
                run(
                    "INSERT INTO tasks(task, device, terms) VALUES (?, ?, ?)",
                    (terms.task, secrets.token_bytes(DEVICE_ID_BYTES), terms.to_json()),
                )
            device, agreed, _ = self._task(terms.task)
            if agreed != terms:
                raise TermsInvalid(f"task {terms.task} now has other terms than this device agreed to")
        return device

    def leave(self, task: str) -> None:
        """Answer no more questions of a task; what it was promised and has not spent is free for others."""
        self._task(task)
        self._connection.execute("UPDATE tasks SET left = 1 WHERE task = ?", (task,))

    def set_cap(self, epsilon: float | None) -> None:
        """Most that all answers to all tasks together may cost, whatever else was agreed; none for no such limit.

        A cap below what is spent already stops all further answers: nothing is unsaid.
        """
        if epsilon is not None and not 0.0 < epsilon < math.inf:
            raise TermsInvalid(f"a cap is a finite number above 0, got {epsilon}")
        self._connection.execute("INSERT OR REPLACE INTO cap(one, epsilon) VALUES (1, ?)", (epsilon,))

    def cap(self) -> float | None:
        """Most that all answers to all tasks together may cost, or none."""
        row = self._connection.execute("SELECT epsilon FROM cap").fetchone()
        return None if row is None else row[0]

    def terms(self, task: str) -> Terms:
        """What was agreed for a task."""
        return self._task(task)[1]

    def device(self, task: str) -> bytes:
        """The pseudonym for a task."""
        return self._task(task)[0]

    def tasks(self) -> list[str]:
        """Tasks this device has joined."""
        return [task for (task,) in self._connection.execute("SELECT task FROM tasks ORDER BY task")]

    def spent(self, task: str) -> Fraction:
        """Epsilon of all answers given to a task, sent or not, added exactly."""
        found = self._connection.execute(
            "SELECT epsilon FROM rounds WHERE task = ? AND bit IS NOT NULL", (task,)
        )
        return sum((Fraction(epsilon) for (epsilon,) in found), Fraction(0))

    def spent_in_all(self) -> Fraction:
        """The same over all tasks: they are about one person's ratings, so their costs add up."""
        return sum(map(self.spent, self.tasks()), Fraction(0))

    def answer(self, question: Question, draw: Callable[[], int]) -> Answer:
        """The one answer to a question: the stored one, or one drawn, charged and stored now.

        When this returns, the answer is on disk. A question outside of the terms, beyond the task's budget or the cap
        over all tasks, or other than the one this round was first seen with is refused, and nothing changes.
        """
        asked, place = question.to_json(), (question.task, question.round)
        with self._transaction() as run:
            device, terms, left = self._task(question.task)
            row = run("SELECT asked, bit, sent FROM rounds WHERE task = ? AND round = ?", place).fetchone()
            if row is not None:
                if row[0] != asked:
                    raise TermsInvalid(f"round {question.round} came with another question before")
                return Answer(row[1], bool(row[2]))
            terms.check(question)
            bit = None
            if question.takes_part(device):
                if left:
                    raise TermsInvalid(f"this device has left task {question.task}")
                terms.check_cost(question, self.spent(question.task))
                self._check_cap(question)
                bit = int(draw())
            run(
                "INSERT INTO rounds(task, round, epsilon, bit, asked) VALUES (?, ?, ?, ?, ?)",
                (*place, question.epsilon, bit, asked),
            )
        return Answer(bit, False)

    def mark_sent(self, task: str, number: int) -> None:
        """Remember that the answer arrived."""
        self._connection.execute("UPDATE rounds SET sent = 1 WHERE task = ? AND round = ?", (task, number))

    def keep_released(self, task: str, body: bytes) -> None:
        """Keep the latest released item side, for the next question and for recommendations."""
        self._connection.execute("INSERT OR REPLACE INTO released(task, body) VALUES (?, ?)", (task, body))

    def released(self, task: str) -> DeviceItemSide | None:
        """The item side kept last."""
        row = self._connection.execute("SELECT body FROM released WHERE task = ?", (task,)).fetchone()
        return None if row is None else DeviceItemSide.from_bytes(row[0])

    def transcript(self) -> dict[str, Any]:
        """Tasks, questions, bits and costs, for the person it belongs to; of the ratings only how many there are."""
        return {
            "ratings": len(self.ratings()),
            "cap": self.cap(),
            "spent": float(self.spent_in_all()),
            "tasks": [self._transcript(task) for task in self.tasks()],
        }

    def _transcript(self, task: str) -> dict[str, Any]:
        device, terms, left = self._task(task)
        rounds = self._connection.execute(
            "SELECT round, epsilon, bit, sent, asked FROM rounds WHERE task = ? ORDER BY round", (task,)
        )
        told = [
            {"round": number, "epsilon": cost, "bit": bit, "sent": bool(sent), "asked": json.loads(asked)}
            for number, cost, bit, sent, asked in rounds
        ]
        spent = float(self.spent(task))
        known = {"task": task, "agreed": terms.epsilon, "spent": spent, "left": left, "device": device.hex()}
        return {**known, "rounds": told}

    def _task(self, task: str) -> tuple[bytes, Terms, bool]:
        """Pseudonym, terms, and whether the device has left."""
        words = "SELECT device, terms, left FROM tasks WHERE task = ?"
        row = self._connection.execute(words, (task,)).fetchone()
        if row is None:
            raise TermsInvalid(f"this device has not joined task {task}")
        return bytes(row[0]), Terms.from_json(row[1]), bool(row[2])

    def _check_promise(self, terms: Terms) -> None:
        """Refuse a task if it and those joined before could together spend more than the cap."""
        cap, promised = self.cap(), Fraction(0)
        for task in self.tasks():
            _, agreed, left = self._task(task)
            promised += self.spent(task) if left else Fraction(agreed.epsilon)
        if cap is not None and promised + Fraction(terms.epsilon) > Fraction(cap):
            raise TermsInvalid(
                f"the task asks for epsilon {terms.epsilon:g}; of the cap of {cap:g} over all tasks {float(promised):g}"
                " is promised already. Leave a task, or raise the cap"
            )

    def _check_cap(self, question: Question) -> None:
        cap, spent = self.cap(), self.spent_in_all()
        if cap is not None and spent + Fraction(question.epsilon) > Fraction(cap):
            raise TermsInvalid(
                f"the answer would cost {question.epsilon:g}; {float(spent):g} of the cap of {cap:g} over all"
                " tasks is spent"
            )

    def _prepare(self) -> None:
        """Make the tables of a new file, or check that this is a device's file."""
        run = self._connection.execute
        run("PRAGMA synchronous = EXTRA")  # a commit, the journal's removal included, outlives a power cut
        run("PRAGMA foreign_keys = ON")
        with self._transaction():  # two programs may open a new file at once
            empty = run("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
            if not empty and run("PRAGMA application_id").fetchone()[0] != APPLICATION:
                raise sqlite3.DatabaseError("it belongs to another program")
            for statement in _SCHEMA.split(";") if empty else ():
                run(statement)

    @contextmanager
    def _transaction(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        """Everything or nothing, and nobody else writes meanwhile; within another one, a part of it."""
        if self._connection.in_transaction:
            yield self._connection.execute
            return
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection.execute
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
