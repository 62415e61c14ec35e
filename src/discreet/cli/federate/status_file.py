"""What a running party last said about its run, beside its store, which only that party can open."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from discreet.model.directory import replace_file

__all__ = ["StatusFile"]


class StatusFile:
    """Written while a party runs and removed when it ends; one that was killed leaves it, and its store tells more.

    Parameters
    ----------
    store
        The party's store.
    """

    def __init__(self, store: Path) -> None:
        self._path = store.with_name(f"{store.name}.status.json")

    def write(self, agreement: str, status: dict[str, Any]) -> None:
        """Replace what was said before; ``agreement`` is the text of the file, for who reads this."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        content = json.dumps({"at": now, "agreement": agreement, "status": status}).encode()
        replace_file(self._path, lambda file: file.write(content), private=True)

    def read(self) -> dict[str, Any] | None:
        """What was said last, if anything was."""
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        whole = isinstance(content, dict) and set(content) == {"at", "agreement", "status"}
        return content if whole else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._path.unlink(missing_ok=True)
