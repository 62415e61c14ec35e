"""Where a run stands, from the store of any of its parties: what was answered, what was paid, who is awaited."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.catalogue import ItemFeatures
from discreet.errors import DiscreetError, SettingsInvalid
from discreet.silos.server import coordinator_store, prototype_coordinator
from discreet.silos.server.server_run import open_coordinator
from discreet.silos.shared.agreement import Agreement
from discreet.silos.shared.agreements import AnyAgreement, parse_agreement
from discreet.silos.shared.store import StoreInUse
from discreet.silos.silo import prototype_silo, silo_store
from discreet.silos.silo.silo_store import SiloStore
from discreet.silos.silo.stored_charges import application_of

__all__ = ["StoredRun", "is_store"]

_SERVERS = (coordinator_store.APPLICATION, prototype_coordinator.APPLICATION)
_SILOS = (silo_store.APPLICATION, prototype_silo.APPLICATION)


def is_store(path: Path) -> bool:
    """Whether this is the store of a party of a run."""
    return path.is_file() and application_of(path) in (*_SERVERS, *_SILOS)


@dataclass(frozen=True)
class StoredRun:
    """A store, and whose it is.

    Parameters
    ----------
    path
        Of the store.
    agreement
        What it belongs to.
    silo
        The silo's name; ``None`` for the server.
    """

    path: Path
    agreement: AnyAgreement
    silo: str | None

    @classmethod
    def find(cls, path: Path) -> StoredRun:
        """The run of a store, which has its agreement in it.

        Raises
        ------
        StoreInUse
            When a process works on it.
        SettingsInvalid
            When it cannot be read, or the agreement in it is not the one it belongs to.
        """
        owner, text = _identity(path)
        agreement = parse_agreement(text.encode())
        digest, _, whose = owner.partition(" ")
        if agreement.digest != digest:
            raise SettingsInvalid(f"{path} belongs to another agreement, with digest {digest}")
        return cls(path, agreement, whose.removeprefix("silo ") if whose != "coordinator" else None)

    def status(self, features: ItemFeatures | None = None) -> dict[str, Any]:
        """Where the run stands, for people and for JSON; ``features`` of the items where the server needs them."""
        if self.silo is None:
            with open_coordinator(self.agreement, self.path, features) as coordinator:
                with suppress(DiscreetError):  # the status says why a run has failed
                    coordinator.question()
                return coordinator.status()
        if isinstance(self.agreement, Agreement):
            with closing(SiloStore(self.path, self.agreement, self.silo)) as kept:
                return kept.status()
        with closing(prototype_silo.open_store(self.path, self.agreement, self.silo)) as store:
            return prototype_silo.status_of(store, self.agreement, self.silo)


def _identity(path: Path) -> tuple[str, str]:
    """Owner and agreement's text of a store."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=1.0)) as opened:
            [(owner,)] = opened.execute("SELECT owner FROM owner").fetchall()
            [(text,)] = opened.execute("SELECT agreement FROM identity").fetchall()
            return str(owner), str(text)
    except (sqlite3.Error, ValueError) as error:
        if "locked" in str(error):
            raise StoreInUse(f"{path} is in use by another process") from None
        raise SettingsInvalid(f"{path} cannot be read: {error}") from None
