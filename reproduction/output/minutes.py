"""How long experiments take: measured, in the records (full runs) and in ``minutes.json`` (quick runs)."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import SettingsInvalid
from reproduction.context import Size
from reproduction.experiment import Finished

__all__ = ["FILE", "STORED", "Measured", "measured", "note"]

STORED = Path(__file__).parents[1] / "results"
"""The stored records."""
FILE = "minutes.json"


@dataclass(frozen=True)
class Measured:
    """One run's wall-clock time and the machine's cores."""

    seconds: float
    cores: int

    @property
    def minutes(self) -> float:
        """To a tenth of a minute, at least one tenth."""
        return max(0.1, round(self.seconds / 60.0, 1))

    def to_dict(self) -> dict[str, Any]:
        """Minutes and cores."""
        return {"minutes": self.minutes, "cores": self.cores}


def note(finished: Finished, file: Path) -> None:
    """Add a run to the file; a record holds the same of a full run, but a quick run's is mostly thrown away."""
    known = _read(file)
    run = {"seconds": round(finished.seconds, 1), "cores": os.cpu_count()}
    known.setdefault(finished.experiment.name, {})[finished.size] = run
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def measured(names: Sequence[str], folder: Path = STORED) -> dict[str, dict[Size, Measured]]:
    """What is known of each experiment: from its record and from the file beside the records."""
    noted = _read(folder / FILE)
    found: dict[str, dict[Size, Measured]] = {}
    for name in names:
        found[name] = {size: Measured(**run) for size, run in noted.get(name, {}).items()}
        record = folder / f"{name}.json"
        if record.is_file():
            content = json.loads(record.read_text(encoding="utf-8"))
            found[name][content["size"]] = Measured(content["seconds"], content["cores"])
    return found


def _read(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SettingsInvalid(f"{file} is not valid JSON ({error}); remove it and run again") from None
    return content
