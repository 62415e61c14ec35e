"""What the coordinator must never forget: what it asked, whose answers it has, and what was released."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.messages import AnswerMessage
from discreet.silos.shared.roll_call import PresentMessage
from discreet.silos.shared.store import Store, pack, unpack

__all__ = ["APPLICATION", "Asked", "CoordinatorStore"]

Release = dict[str, npt.NDArray[np.float64]]

APPLICATION = 0x64736331
_SCHEMA = """
CREATE TABLE questions(
    round INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    roster TEXT NOT NULL,
    question BLOB NOT NULL,
    release BLOB,
    PRIMARY KEY (round, attempt)
) STRICT;
CREATE TABLE answers(
    round INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    silo TEXT NOT NULL,
    digest TEXT NOT NULL,
    size INTEGER NOT NULL,
    fixed_noise INTEGER NOT NULL,
    answer BLOB,
    PRIMARY KEY (round, attempt, silo)
) STRICT;
CREATE TABLE calls(
    number INTEGER PRIMARY KEY,
    round INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    roster TEXT NOT NULL,
    bytes_down INTEGER NOT NULL
) STRICT;
CREATE TABLE present(
    round INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    roster TEXT NOT NULL,
    silo TEXT NOT NULL,
    size INTEGER NOT NULL,
    signature TEXT NOT NULL,
    PRIMARY KEY (round, attempt, roster, silo)
) STRICT;
CREATE TABLE ended(round INTEGER NOT NULL) STRICT
"""


class Asked(NamedTuple):
    """A roll call; ``size`` of the question once it was asked, ``release`` once all have answered."""

    round: int
    attempt: int
    roster: tuple[str, ...]
    size: int | None
    bytes_down: int
    release: Release | None


class CoordinatorStore:
    """The coordinator's file."""

    def __init__(self, path: Path, agreement: Agreement) -> None:
        owner = f"{agreement.digest} coordinator"
        self._store = Store(path, APPLICATION, _SCHEMA, owner, agreement.model_dump_json())
        self.lock = self._store.lock
        self.close = self._store.close

    def asked(self) -> list[Asked]:
        """All roll calls in order, with the questions that came of them."""
        rows = self._store.rows(
            "SELECT calls.round, calls.attempt, calls.roster, length(question), bytes_down, release FROM calls "
            "LEFT JOIN questions USING (round, attempt, roster) ORDER BY number"
        )
        return [
            Asked(
                round_,
                attempt,
                tuple(json.loads(roster)),
                size,
                bytes_down,
                None if release is None else unpack(release),
            )
            for round_, attempt, roster, size, bytes_down, release in rows
        ]

    def question(self, round_: int, attempt: int) -> bytes:
        """A question's bytes, as they were first sent."""
        rows = self._store.rows(
            "SELECT question FROM questions WHERE round = ? AND attempt = ?", round_, attempt
        )
        return bytes(rows[0][0])

    def call(self, round_: int, attempt: int, roster: tuple[str, ...], bytes_down: int) -> None:
        """Keep a roll call before anybody hears it, and nothing of the answers to an attempt that it replaces."""
        with self._store.transaction():
            self._store.write(
                "INSERT INTO calls(round, attempt, roster, bytes_down) VALUES (?, ?, ?, ?)",
                round_,
                attempt,
                json.dumps(roster),
                bytes_down,
            )
            forgotten = self._store.write("UPDATE answers SET answer = NULL WHERE answer IS NOT NULL")
        if forgotten:
            self._store.forget_deleted()

    def note_present(self, message: PresentMessage, size: int) -> None:
        """Keep that a silo has signed."""
        call = message.call
        with self._store.transaction():
            self._store.write(
                "INSERT OR IGNORE INTO present VALUES (?, ?, ?, ?, ?, ?)",
                call.round,
                call.attempt,
                json.dumps(call.roster),
                message.silo,
                size,
                message.signature,
            )

    def present(self, round_: int, attempt: int, roster: tuple[str, ...]) -> dict[str, str]:
        """Signatures of a roll call, by silo."""
        rows = self._store.rows(
            "SELECT silo, signature FROM present WHERE round = ? AND attempt = ? AND roster = ? ORDER BY silo",
            round_,
            attempt,
            json.dumps(roster),
        )
        return {str(silo): str(signature) for silo, signature in rows}

    def ask(self, round_: int, attempt: int, roster: tuple[str, ...], question: bytes) -> None:
        """Keep a question before anybody sees it."""
        with self._store.transaction():
            self._store.write(
                "INSERT INTO questions VALUES (?, ?, ?, ?, NULL)",
                round_,
                attempt,
                json.dumps(roster),
                question,
            )

    def digest_of(self, round_: int, attempt: int, silo: str) -> str | None:
        """Of the answer that a silo has given, if it has."""
        rows = self._store.rows(
            "SELECT digest FROM answers WHERE round = ? AND attempt = ? AND silo = ?", round_, attempt, silo
        )
        return str(rows[0][0]) if rows else None

    def receive(self, message: AnswerMessage, digest: str, answer: bytes) -> None:
        """Keep an answer."""
        with self._store.transaction():
            self._store.write(
                "INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)",
                message.round,
                message.attempt,
                message.silo,
                digest,
                len(answer),
                int(message.fixed_noise),
                answer,
            )

    def answers(self, round_: int, attempt: int) -> Iterator[bytes]:
        """All answers to a question that has not been released yet, one at a time: they may be long."""
        one = "SELECT answer FROM answers WHERE round = ? AND attempt = ? AND silo = ?"
        for silo in sorted(self.answered(round_, attempt)):
            yield bytes(self._store.rows(one, round_, attempt, silo)[0][0])

    def answered(self, round_: int, attempt: int) -> set[str]:
        """Who has answered."""
        rows = self._store.rows("SELECT silo FROM answers WHERE round = ? AND attempt = ?", round_, attempt)
        return {str(silo) for (silo,) in rows}

    def release(self, round_: int, attempt: int, release: Release, *, fixed_noise: bool) -> None:
        """Keep a release, and nothing longer than needed of what it was made from.

        Where the server's noise could be drawn again, that is kept with the answers it was added to.
        """
        with self._store.transaction():
            self._store.write(
                "UPDATE questions SET release = ? WHERE round = ? AND attempt = ?",
                pack(release),
                round_,
                attempt,
            )
            self._store.write("UPDATE answers SET answer = NULL")
            if fixed_noise:
                self._store.write(
                    "UPDATE answers SET fixed_noise = 1 WHERE round = ? AND attempt = ?", round_, attempt
                )
        self._store.forget_deleted()

    def end(self, round_: int) -> None:
        """The run stops before this round; answers to it are of no use any more."""
        with self._store.transaction():
            self._store.write("INSERT INTO ended VALUES (?)", round_)
            self._store.write("UPDATE answers SET answer = NULL")
        self._store.forget_deleted()

    @property
    def ended(self) -> bool:
        """Whether the run was stopped early."""
        return bool(self._store.rows("SELECT 1 FROM ended"))

    @property
    def bytes_up(self) -> int:
        """Length of all answers and signatures taken."""
        rows = self._store.rows(
            "SELECT coalesce(sum(size), 0) FROM (SELECT size FROM answers UNION ALL SELECT size FROM present)"
        )
        return int(rows[0][0])

    def traffic(self) -> list[dict[str, int]]:
        """Of every question: bytes to all silos of its roster, and of the answers taken, roll calls included."""
        of = "WHERE one.round = questions.round AND one.attempt = questions.attempt"
        rows = self._store.rows(
            "SELECT round, attempt, roster, length(question), "
            f"(SELECT coalesce(sum(size), 0) FROM answers AS one {of}), "
            f"(SELECT coalesce(sum(size), 0) FROM present AS one {of}), "
            f"(SELECT coalesce(sum(bytes_down), 0) FROM calls AS one {of}) "
            "FROM questions ORDER BY round, attempt"
        )
        return [
            {
                "round": round_,
                "attempt": attempt,
                "bytes_down": size * len(json.loads(roster)) + called,
                "bytes_up": answered + signed,
            }
            for round_, attempt, roster, size, answered, signed, called in rows
        ]

    @property
    def fixed_noise(self) -> bool:
        """Whether any noise, a silo's or the server's, could be drawn again."""
        return bool(self._store.rows("SELECT 1 FROM answers WHERE fixed_noise LIMIT 1"))
