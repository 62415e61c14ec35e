"""Which store of each silo the coordinator serves: the first. An answer from a second one is recorded for good."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.silos.shared.second_store import SecondStore
from discreet.silos.shared.store import Store

__all__ = ["SCHEMA", "SiloStores"]

SCHEMA = """
CREATE TABLE silo_stores(silo TEXT PRIMARY KEY, store TEXT NOT NULL) STRICT;
CREATE TABLE second_stores(silo TEXT PRIMARY KEY, round INTEGER NOT NULL, reason TEXT NOT NULL) STRICT
"""


class SiloStores:
    """What a coordinator knows about the silos' own stores.

    Parameters
    ----------
    store
        The coordinator's, with the tables of :data:`SCHEMA`.

    Notes
    -----
    **Privacy.** ``proofs/second_store.md``: serving one store alone keeps the other from answering at all; where both
    have answered, the server could hold two noise draws under one mask, and nothing that is done here takes them back.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def register(self, silo: str, store_id: str) -> None:
        """Serve this store of the silo from now on.

        Raises
        ------
        SecondStore
            When another one was served first. Nothing has changed.
        """
        if self._is_second(silo, store_id):
            raise SecondStore(
                f"another store of {silo} takes part in this run already, and one silo has one store: go on with that "
                "one. If it is lost, the others can go on without this silo ('discreet federate drop')",
                silo,
            )
        with self._store.transaction():
            self._store.write("INSERT OR IGNORE INTO silo_stores VALUES (?, ?)", silo, store_id)

    def check_answer(self, silo: str, round_: int, store_id: str) -> None:
        """Take an answer of this store; fatal where another one is served. No id: the sender does not say."""
        if not store_id:
            return
        if self._is_second(silo, store_id):
            raise self.record(silo, round_, "it came from another store than the answers before it")
        self.register(silo, store_id)

    def record(self, silo: str, round_: int, reason: str) -> SecondStore:
        """Remember for good that two stores of a silo have answered; what to raise."""
        with self._store.transaction():
            self._store.write("INSERT OR IGNORE INTO second_stores VALUES (?, ?, ?)", silo, round_, reason)
        return _failure(silo, round_, reason)

    def twice(self) -> list[str]:
        """Silos that have answered from two stores."""
        return [str(silo) for (silo,) in self._store.rows("SELECT silo FROM second_stores ORDER BY silo")]

    def failure(self, roster: Iterable[str]) -> SecondStore | None:
        """Why a run with these silos cannot go on, if it cannot."""
        members = set(roster)
        rows = self._store.rows("SELECT silo, round, reason FROM second_stores ORDER BY silo")
        return next((_failure(silo, round_, why) for silo, round_, why in rows if silo in members), None)

    def _is_second(self, silo: str, store_id: str) -> bool:
        known = self._store.rows("SELECT store FROM silo_stores WHERE silo = ?", silo)
        return bool(known) and known != [(store_id,)]


def _failure(silo: str, round_: int, reason: str) -> SecondStore:
    return SecondStore(
        f"two stores of {silo} are in this run: an answer to round {round_} cannot be taken, because {reason}. Whoever "
        f"has both answers of one round can take noise off {silo}'s sums, so the run does not go on with it. Find the "
        f"second store; then go on without {silo} ('discreet federate drop') or end the run ('... finish')",
        silo,
    )
