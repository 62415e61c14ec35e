"""Runs of prototypes in one process: all parties with stores in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.catalogue import Catalogue
from discreet.data.ratings import Ratings
from discreet.methods.prototypes.settings import FactorSettings, PrototypeSettings
from discreet.privacy.pure.noise import PureNoise
from discreet.silos.server.prototypes import PrototypeCoordinator
from discreet.silos.shared.agreement import PrototypeAgreement
from discreet.silos.silo.prototypes import PrototypeSilo
from tests.methods.prototypes.worlds import ITEMS, RANGE, ratings, silo
from tests.silos.worlds import names, noise_key

CATALOGUE = Catalogue(list(range(ITEMS)))
SETTINGS = PrototypeSettings.from_preset("swap", prototypes=4, users=200, dimension=3, support=6)


def agree(count: int = 3, **changes: Any) -> PrototypeAgreement:
    options: dict[str, Any] = {
        "silos": names(count),
        "epsilon": 20.0,
        "catalogue": CATALOGUE,
        "rating_range": RANGE,
        "settings": SETTINGS,
        "factors": FactorSettings(rank=3, rounds=5),
        "seed": 0,
    }
    return PrototypeAgreement.make("a test", **(options | changes))


def part(name: str, users: int = 100) -> Ratings:
    return ratings(silo(users, seed=int(name[-2:])))


class Run:
    """A coordinator and its silos."""

    def __init__(self, folder: Path, agreement: PrototypeAgreement, *, fixed: bool = True) -> None:
        self.folder, self.agreement, self.fixed = folder, agreement, fixed
        self.coordinator = PrototypeCoordinator(folder / "server.db", agreement)
        self.silos = {name: self.open_silo(name) for name in agreement.roster}

    def open_silo(self, name: str, users: int = 100) -> PrototypeSilo:
        opened = PrototypeSilo(self.folder / f"{name}.db", self.agreement, name, part(name, users))
        opened._noise = PureNoise.fixed_key_not_private(noise_key(name)) if self.fixed else None
        return opened

    def reopen(self, name: str, users: int = 100) -> PrototypeSilo:
        self.silos[name].close()
        self.silos[name] = self.open_silo(name, users)
        return self.silos[name]

    def send(self, *silos: str) -> None:
        for name in silos:
            self.coordinator.receive(name, self.silos[name].answer(b""))
            assert name not in self.coordinator.status()["waiting_for"]

    def close(self) -> None:
        self.coordinator.close()
        for party in self.silos.values():
            party.close()


def dump(party: PrototypeCoordinator | PrototypeSilo) -> list[tuple[Any, ...]]:
    """Everything in a party's store."""
    return party._store.rows("SELECT * FROM entries ORDER BY number")
