"""Where the files of a simulated run are, from Flower's run config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.catalogue import Catalogue
from discreet.errors import CatalogueInvalid, SettingsInvalid
from discreet.silos.shared.agreement import Agreement, catalogue_digest

__all__ = ["RunFiles"]

_FILES = {
    "agreement": "agreement.json",
    "catalogue": "items.csv",
    "silos": "silos",
    "store": "server.sqlite",
    "out": "model",
}
_COLUMNS = {"user": "user", "item": "item", "rating": "rating"}


@dataclass(frozen=True)
class RunFiles:
    """Files and columns by name.

    Parameters
    ----------
    agreement, catalogue
        What was agreed, and the items it is about.
    silos
        Folder with a folder for every silo, by its name in the agreement.
    store, out
        The server's store, and the directory that the model goes into.
    columns
        Names of the user, item and rating columns in the silos' files.
    """

    agreement: Path
    catalogue: Path
    silos: Path
    store: Path
    out: Path
    columns: Mapping[str, str]

    @classmethod
    def of(cls, run_config: Mapping[str, Any]) -> RunFiles:
        """All in ``folder``, but for what ``agreement``, ``catalogue``, ``silos``, ``store`` or ``out`` name."""
        folder = _text(run_config, "folder", "")
        files = {}
        for key, name in _FILES.items():
            given = _text(run_config, key, "")
            path = Path(given) if given else Path(folder) / name
            if not path.is_absolute():
                raise SettingsInvalid(
                    f"the run config must say where {key} is, from the root on (Flower runs apps in a place of its "
                    f"own): --run-config 'folder=\"/path/to/folder\"', or {key}"
                )
            files[key] = path
        return cls(**files, columns={key: _text(run_config, key, name) for key, name in _COLUMNS.items()})

    def read(self) -> tuple[Agreement, Catalogue]:
        """The agreement and the catalogue, which must be the agreed one."""
        agreement = Agreement.load(self.agreement)
        catalogue = Catalogue.from_file(self.catalogue, features=agreement.features)
        if catalogue_digest(catalogue) != agreement.catalogue:
            raise CatalogueInvalid(
                f"{self.catalogue} is not the catalogue that was agreed on: the items or their order differ"
            )
        return agreement, catalogue


def _text(run_config: Mapping[str, Any], key: str, default: str) -> str:
    value = run_config.get(key, default)
    if not isinstance(value, str):
        raise SettingsInvalid(f"{key} in the run config must be a text, and is {value!r}")
    return value
