"""What may be sent to the collector, read strictly: a field too many, or a number as text, is refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from discreet.devices.collector.store import RECORD

__all__ = ["Close", "Delete", "Report", "TaskName", "explain"]

TaskName = Annotated[str, Field(pattern=r"^[a-z0-9-]{1,64}$")]
MAX_ROUND = (1 << 31) - 1


class Report(BaseModel):
    """One device's answer: one bit, under a pseudonym that is random for each task."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    task: TaskName
    round: Annotated[int, Field(ge=1, le=MAX_ROUND)]
    device: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    bit: Annotated[int, Field(ge=0, le=1)]

    def record(self) -> bytes:
        """Pseudonym and bit as they are stored."""
        record = bytes.fromhex(self.device) + bytes((self.bit,))
        assert len(record) == RECORD
        return record


class Close(BaseModel):
    """Which round to end; named, so that a repeated request does not end the next one too."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    round: Annotated[int, Field(ge=1, le=MAX_ROUND)]


class Delete(BaseModel):
    """What to delete of a task: the reports of its released rounds, or all of it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    what: Literal["reports", "task"]


def explain(errors: Any) -> str:
    """The first of pydantic's errors in one line."""
    first = errors[0]
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    return f"{where}: {first['msg']}"[:200] if where else str(first["msg"])[:200]
