"""What a statement says of earlier runs on the same data."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = ["EarlierRuns"]


class EarlierRuns(BaseModel):
    """Runs on the same data that were in the ledger when this one began, and what all of them come to.

    Parameters
    ----------
    ledger
        Name of the data set.
    group
        Whose users this run is about, where the holder has declared groups to be disjoint. Runs of other groups are
        not counted.
    runs
        How many earlier ones cost something.
    earlier_epsilon, epsilon, delta
        What the earlier ones cost together, and what they cost with this one, both at ``delta``.
    cap_epsilon, cap_delta
        What all of them may cost; ``None`` where no cap was set. Its delta is absent in older files, where it is
        ``delta``.
    head
        Hash of the ledger's record by which this run was entered: with it, ``discreet ledger verify --head`` finds a
        ledger that was set back and has forgotten this run or one before it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    ledger: str = Field(min_length=1)
    group: str | None = None
    runs: int = Field(ge=0)
    earlier_epsilon: float = Field(ge=0)
    epsilon: float = Field(ge=0)
    delta: float = Field(ge=0, lt=1)
    cap_epsilon: float | None = Field(default=None, gt=0)
    cap_delta: float | None = Field(default=None, gt=0, lt=1)
    head: str = Field(pattern=r"^[0-9a-f]{64}$")

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.epsilon < self.earlier_epsilon:
            raise ValueError("all runs together cannot cost less than the earlier ones")
        return self
