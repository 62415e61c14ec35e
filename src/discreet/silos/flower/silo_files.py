"""The silo that a virtual client stands for, and the folder with what is its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.data.ratings import Ratings
from discreet.errors import SettingsInvalid
from discreet.silos.flower.run_files import RunFiles
from discreet.silos.shared.agreement import Agreement
from discreet.silos.silo.silo import Silo
from discreet.silos.transport.identity import MASK_KEY, read_mask_key

__all__ = ["RATINGS", "STORE", "SiloFiles"]

RATINGS, STORE = "ratings.parquet", "silo.sqlite"
"""Files of a silo's own folder, beside its ``mask.key``."""


@dataclass(frozen=True)
class SiloFiles:
    """A silo that a virtual client of Flower stands for, and its folder.

    Parameters
    ----------
    name
        In the agreement.
    places
        Of the run.
    """

    name: str
    places: RunFiles

    @classmethod
    def of(cls, context: Any) -> SiloFiles | None:
        """The silo of a virtual client: partitions are numbered in the order of the silos' names.

        ``None`` for a client too many.
        """
        partition = context.node_config.get("partition-id")
        if not isinstance(partition, int):
            raise SettingsInvalid(
                "this app is for Flower's simulation, which numbers its clients (partition-id)"
            )
        places = RunFiles.of(context.run_config)
        roster = Agreement.load(places.agreement).roster
        return cls(roster[partition], places) if 0 <= partition < len(roster) else None

    @property
    def folder(self) -> Path:
        """What is the silo's own: ratings, key, store."""
        return self.places.silos / self.name

    def open(self, *, fixed_noise_key_not_private: bytes | None = None) -> Silo:
        """The silo, with its ratings read and its store open."""
        agreement, catalogue = self.places.read()
        columns = self.places.columns
        ratings = Ratings.from_file(
            self.folder / RATINGS,
            user=columns["user"],
            item=columns["item"],
            rating=columns["rating"] if agreement.explicit else None,
            rating_range=agreement.rating_range,
            catalogue=catalogue,
        )
        return Silo(
            self.folder / STORE,
            agreement,
            self.name,
            read_mask_key(self.folder / MASK_KEY),
            ratings,
            fixed_noise_key_not_private=fixed_noise_key_not_private,
        )
