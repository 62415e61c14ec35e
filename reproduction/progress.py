"""What an unfinished run has done already, so that an interrupted one goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import discreet


@cache
def code() -> str:
    """A digest of the library and of the experiments: numbers of other code are not gone on with."""
    digest = hashlib.sha256()
    for root in (Path(discreet.__file__).parent, Path(__file__).parent):
        for file in sorted(root.rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


class Progress:
    """Finished parts of one experiment, by name; kept in a file where a path is given."""

    def __init__(self, path: Path | None = None, circumstances: Mapping[str, Any] | None = None) -> None:
        self._path = path
        self._parts: dict[str, Any] = {}
        if path is None:
            return
        header = json.dumps({"code": code(), **(circumstances or {})}, sort_keys=True)
        lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.is_file() else []
        kept = lines if lines[:1] == [header] else [header]
        self._parts = dict(json.loads(line) for line in kept[1:])
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written anew in any case: an interruption may have left the beginning of a line.
        path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")

    def once(self, name: str, compute: Callable[[], Any]) -> Any:
        """What ``compute`` gives (numbers, text, lists and dictionaries), or gave before the interruption."""
        if name not in self._parts:
            found = compute()
            self._parts[name] = found
            if self._path is not None:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps([name, found]) + "\n")
        return self._parts[name]

    def finished(self) -> None:
        """The record is written: nothing is left to go on with."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
