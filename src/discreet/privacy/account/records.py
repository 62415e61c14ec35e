"""What a ledger writes down, one record a line. Nothing in a record follows from the ratings."""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from discreet.errors import LedgerInvalid
from discreet.privacy.costs import Price
from discreet.privacy.promise import RunId

__all__ = [
    "Begin",
    "Cap",
    "Charged",
    "End",
    "Open",
    "Record",
    "RefusedRun",
    "Resume",
    "TrustModel",
    "read_record",
]

TrustModel: TypeAlias = Literal["central", "silos", "local"]
_Text = Annotated[str, Field(min_length=1, max_length=500)]
_Positive = Annotated[float, Field(gt=0)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Begin(_Frozen):
    """The first record: which data this is about."""

    kind: Literal["ledger"] = "ledger"
    format: Literal[1] = 1
    ledger: RunId
    name: _Text
    relation: Literal["add or remove one user"] = "add or remove one user"
    when: _Text


class Cap(_Frozen):
    """What all runs together may cost from now on; without numbers there is no cap any more."""

    kind: Literal["cap"] = "cap"
    epsilon: float | None = Field(default=None, gt=0)
    delta: float | None = Field(default=None, gt=0, lt=1)
    when: _Text

    @model_validator(mode="after")
    def _both(self) -> Self:
        if (self.epsilon is None) != (self.delta is None):
            raise ValueError("a cap has epsilon and delta, or neither")
        return self


class _Asked(_Frozen):
    """A run as it was asked for: its own budget, and about whom it is."""

    when: _Text
    method: _Text
    model: _Text | None = None
    trust: TrustModel = "central"
    group: _Text | None = None
    epsilon: _Positive
    delta: float = Field(ge=0, lt=1)


class Open(_Asked):
    """A run that begins, and what it reserves. ``adaptive``: later costs may follow from earlier releases."""

    kind: Literal["open"] = "open"
    run: RunId
    reserved: Price
    adaptive: bool


class RefusedRun(_Asked):
    """A run for which there was no room."""

    kind: Literal["refused"] = "refused"


class Resume(_Frozen):
    """A run that goes on after a stop (a silo's)."""

    kind: Literal["resume"] = "resume"
    run: RunId


class Charged(_Frozen):
    """A charge, written before its noise is drawn. It has no time: how long something took is nobody's business."""

    kind: Literal["charge"] = "charge"
    run: RunId
    name: _Text
    price: Price


class End(_Frozen):
    """A run that has ended; ``stopped``: a silo's, which may go on."""

    kind: Literal["end"] = "end"
    run: RunId
    state: Literal["ended", "failed", "stopped"]


Record: TypeAlias = Begin | Cap | Open | RefusedRun | Resume | Charged | End
_READ: TypeAdapter[Record] = TypeAdapter(Annotated[Record, Field(discriminator="kind")])


def read_record(content: object, where: str) -> Record:
    """A record from what its line holds; refuses anything else."""
    try:
        return _READ.validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise LedgerInvalid(f"{where} is no record of a ledger ({field}: {first['msg']})") from None
