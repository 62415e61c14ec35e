"""What a silo must never forget: what it was charged, what it answered, and which releases it followed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.privacy.ledger import Charge, Ledger
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.store import Store, pack, unpack

__all__ = ["APPLICATION", "Given", "SiloStore"]

APPLICATION = 0x64737331
_SCHEMA = """
CREATE TABLE answers(
    round INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    roster TEXT NOT NULL,
    question TEXT NOT NULL,
    release BLOB NOT NULL,
    answer BLOB NOT NULL,
    charge TEXT NOT NULL,
    mu REAL NOT NULL,
    detail TEXT NOT NULL,
    fixed_noise INTEGER NOT NULL,
    PRIMARY KEY (round, attempt)
) STRICT;
CREATE TABLE refusals(reason TEXT PRIMARY KEY) STRICT
"""
# Reasons kept; a server that sends nonsense for ever must not fill the disk.
_MOST_REFUSALS = 100


@dataclass(frozen=True)
class Given:
    """An answer that was given, or is about to be.

    Parameters
    ----------
    round, attempt, roster
        To which question.
    question
        Digest of its bytes.
    release
        The release of the round before, which came with it.
    answer
        The bytes that left.
    charge
        What was paid.
    fixed_noise
        Whether the noise could be drawn again.
    """

    round: int
    attempt: int
    roster: tuple[str, ...]
    question: str
    release: Mapping[str, npt.NDArray[np.float64]]
    answer: bytes
    charge: Charge
    fixed_noise: bool


class SiloStore:
    """The silo's file. A charge and the answer it pays for are written together or not at all."""

    def __init__(self, path: Path, agreement: Agreement, name: str) -> None:
        owner = f"{agreement.digest} silo {name}"
        self._store = Store(path, APPLICATION, _SCHEMA, owner, agreement.model_dump_json())
        self.lock = self._store.lock
        self.close = self._store.close
        self.agreement, self.name = agreement, name
        self._refusals = [
            str(reason) for (reason,) in self._store.rows("SELECT reason FROM refusals ORDER BY rowid")
        ]

    def give(self, given: Given) -> None:
        """Charge and answer, on the disk when this returns.

        The bytes of earlier answers go: that this question came shows that they arrived, or are not wanted any more.
        """
        charge = given.charge
        with self._store.transaction():
            self._store.write("UPDATE answers SET answer = x''")
            self._store.write(
                "INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                given.round,
                given.attempt,
                json.dumps(given.roster),
                given.question,
                pack(dict(given.release)),
                given.answer,
                charge.name,
                charge.mu,
                json.dumps(dict(charge.detail)),
                int(given.fixed_noise),
            )
        self._store.forget_deleted()

    def forget(self) -> None:
        """Keep no answer's bytes: the run is over, and what was charged stays."""
        with self._store.transaction():
            self._store.write("UPDATE answers SET answer = x''")
        self._store.forget_deleted()

    def answered(self, round_: int, attempt: int) -> tuple[str, bytes] | None:
        """Digest of the question and bytes of the answer, where there was one; no bytes if they are not kept."""
        rows = self._store.rows(
            "SELECT question, answer FROM answers WHERE round = ? AND attempt = ?", round_, attempt
        )
        return None if not rows else (str(rows[0][0]), bytes(rows[0][1]))

    def status(self) -> dict[str, Any]:
        """Where the silo stands, as far as the store alone shows it."""
        rows = self._store.rows(
            "SELECT round, attempt, charge FROM answers ORDER BY round DESC, attempt DESC LIMIT 1"
        )
        round_, attempt, question = rows[0] if rows else (None, 0, None)
        ledger = self.ledger(self.agreement)
        return {
            "silo": self.name,
            "run": self.agreement.run_id,
            "round": round_,
            "question": question,
            "attempt": attempt,
            "charged_mu": ledger.spent_mu,
            "epsilon_spent": ledger.epsilon_spent if ledger.charges else 0.0,
            "epsilon": self.agreement.epsilon,
            "delta": self.agreement.delta,
            "refusals": self.refusals(),
        }

    def path_taken(self) -> list[tuple[int, int, tuple[str, ...], dict[str, npt.NDArray[np.float64]]]]:
        """Round, attempt, roster and release of every question answered, in order."""
        rows = self._store.rows("SELECT round, attempt, roster, release FROM answers ORDER BY round, attempt")
        return [
            (round_, attempt, tuple(json.loads(roster)), unpack(release))
            for round_, attempt, roster, release in rows
        ]

    def ledger(self, agreement: Agreement) -> Ledger:
        """All that was charged, charged again to a new ledger."""
        ledger = Ledger(agreement.budget)
        for name, mu, detail in self._store.rows(
            "SELECT charge, mu, detail FROM answers ORDER BY round, attempt"
        ):
            ledger.redeem(ledger.charge(name, mu=mu, detail=json.loads(detail)))
        return ledger

    @property
    def fixed_noise(self) -> bool:
        """Whether any noise could be drawn again."""
        return bool(self._store.rows("SELECT 1 FROM answers WHERE fixed_noise LIMIT 1"))

    def log(self, reason: str) -> None:
        """Keep why something was refused, each reason once."""
        reason = reason[:500]
        if len(self._refusals) < _MOST_REFUSALS and reason not in self._refusals:
            with self._store.transaction():
                self._store.write("INSERT INTO refusals VALUES (?)", reason)
            self._refusals.append(reason)

    def refusals(self) -> list[str]:
        """Why things were refused."""
        return list(self._refusals)
