"""The server's half of a run of prototypes: one letter from each silo, then one message of factors to all.

Everything it has received and released is in its store before anybody is told, so it can be killed at any point and
goes on from there. Each letter is private on its own, so a silo that stays away costs the others nothing.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.errors import Refused
from discreet.methods.prototypes.public.factorise import factorise
from discreet.privacy.statement import Statement
from discreet.silos.shared.prototype_agreement import PrototypeAgreement
from discreet.silos.shared.prototype_messages import open_letter
from discreet.silos.shared.store import Store, StoreOwner

__all__ = ["PrototypeCoordinator"]

_APPLICATION = 0x64737063
_SCHEMA = """
CREATE TABLE letters(silo TEXT PRIMARY KEY, digest TEXT NOT NULL, letter BLOB NOT NULL) STRICT;
CREATE TABLE dropped(silo TEXT PRIMARY KEY) STRICT;
CREATE TABLE released(one INTEGER PRIMARY KEY CHECK (one = 1), factors BLOB NOT NULL) STRICT
"""


class PrototypeCoordinator(StoreOwner[Store]):
    """Takes letters until none is awaited, and releases the factors once. Safe to use from several threads.

    Parameters
    ----------
    store
        File of the coordinator's own.
    agreement
        The same file that every silo has.
    """

    def __init__(self, store: Path, agreement: PrototypeAgreement) -> None:
        self.agreement = agreement
        self._store = Store(Path(store), _APPLICATION, _SCHEMA, f"{agreement.digest} coordinator")

    def question(self) -> bytes | None:
        """Nothing is asked, as the agreement says it all: no bytes while letters are awaited, then ``None``."""
        return b"" if self._waiting_for() else None

    def receive(self, silo_name: str, body: bytes) -> dict[str, Any]:
        """Take a silo's letter; it is on the disk when this returns.

        Raises
        ------
        Refused
            For anything but the letter awaited from this silo, or the same letter again. Nothing has changed.
        """
        with self._store.lock:
            silo, _ = open_letter(body, self.agreement)
            if silo != silo_name:
                raise Refused(f"{silo_name} sent a message in the name of {silo}")
            digest = hashlib.sha256(body).hexdigest()
            known = self._store.rows("SELECT digest FROM letters WHERE silo = ?", silo)
            if not known:
                self._check_awaited(silo)
                with self._store.transaction():
                    self._store.write("INSERT INTO letters VALUES (?, ?, ?)", silo, digest, body)
            elif known != [(digest,)]:
                raise Refused(f"{silo} has sent its one message already, with other bytes")
            return {"accepted": True, "repeated": bool(known), **self.status()}

    def drop(self, *silo_names: str) -> None:
        """Give up waiting for some silos; they are out of the run, and the others pay nothing for it.

        Raises
        ------
        Refused
            When one of them is not awaited, or nobody would be left.
        """
        with self._store.lock:
            waiting = self._waiting_for()
            if not silo_names:
                raise Refused("name the silos to go on without")
            for name in silo_names:
                if name not in waiting:
                    raise Refused(f"{name} is not awaited, so there is nothing to give up")
            if set(self._roster()) <= set(silo_names):
                raise Refused("nobody would be left: at least one silo must take part")
            with self._store.transaction():
                for name in dict.fromkeys(silo_names):
                    self._store.write("INSERT INTO dropped VALUES (?)", name)

    def factors(self) -> bytes:
        """What goes down to every silo, the same bytes whenever they are asked for."""
        with self._store.lock:
            if self._waiting_for():
                raise Refused("the run is not over yet; there are no factors")
            rows = self._store.rows("SELECT factors FROM released")
            if rows:
                return bytes(rows[0][0])
            messages = [open_letter(letter, self.agreement)[1] for letter in self._letters().values()]
            factors = factorise(messages, self.agreement.factors, self.agreement.seed)
            made = replace(factors, run=self.agreement.run_id).to_bytes()
            with self._store.transaction():
                self._store.write("INSERT INTO released VALUES (1, ?)", made)
            return made

    def statements(self) -> dict[str, Statement]:
        """What each silo has promised its users."""
        with self._store.lock:
            return {
                silo: open_letter(letter, self.agreement)[1].statement
                for silo, letter in self._letters().items()
            }

    def status(self) -> dict[str, Any]:
        """Where the run stands, for people and for JSON."""
        with self._store.lock:
            waiting, roster = self._waiting_for(), self._roster()
            [(up, bytes_up)] = self._store.rows(
                "SELECT count(*), coalesce(sum(length(letter)), 0) FROM letters"
            )
            released = self._store.rows("SELECT length(factors) FROM released")
            return {
                "run": self.agreement.run_id,
                "state": "running" if waiting else "finished",
                "round": 0 if waiting else 1,
                "rounds": 1,
                "attempt": 0,
                "roster": roster,
                "waiting_for": waiting,
                "messages_up": up,
                "messages_down": len(roster) if released else 0,
                "bytes_up": bytes_up,
                "bytes_down": released[0][0] * len(roster) if released else 0,
            }

    def _check_awaited(self, silo: str) -> None:
        if silo not in self.agreement.roster:
            raise Refused(f"{silo} is not in the agreement")
        if silo not in self._roster():
            raise Refused(f"{silo} is out of this run: the others have gone on without it")

    def _roster(self) -> list[str]:
        dropped = {silo for (silo,) in self._store.rows("SELECT silo FROM dropped")}
        return [name for name in self.agreement.roster if name not in dropped]

    def _waiting_for(self) -> list[str]:
        with self._store.lock:
            come = {silo for (silo,) in self._store.rows("SELECT silo FROM letters")}
            return [name for name in self._roster() if name not in come]

    def _letters(self) -> dict[str, bytes]:
        rows = self._store.rows("SELECT silo, letter FROM letters ORDER BY silo")
        return {str(silo): bytes(letter) for silo, letter in rows}
