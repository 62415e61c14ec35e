"""Runs beside the one a statement is about: those whose releases a model carries, and those on the same data.

**Privacy.** Runs on the same people compose. Whoever was in all of them has given away the sum, so that sum is what a
statement says first; proof notes: ``proofs/accounting.md`` and ``proofs/ledger.md``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from discreet.privacy.account.costs import Price
from discreet.privacy.selection import Selection

__all__ = ["Carried", "EarlierRuns", "RunCost", "RunId"]

RunId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
"""Known by its id, a run is counted once, by whatever way it is carried."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class RunCost(_Frozen):
    """What one earlier run cost.

    Parameters
    ----------
    run
        Its id.
    part
        All of it, or the choice of its catalogue alone.
    model
        Digest of the model that came out of it, where that is known.
    epsilon, delta
        What somebody has given away who was in this run alone.
    price
        The same as it composes.
    """

    run: RunId
    part: Literal["run", "catalogue"] = "run"
    model: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    epsilon: float = Field(gt=0)
    delta: float = Field(ge=0, lt=1)
    price: Price

    @property
    def name(self) -> str:
        """In words."""
        run = f"run {self.run[:8]}"
        if self.part == "catalogue":
            return f"the catalogue, found by {run}"
        return run if self.model is None else f"model {self.model[:16]} ({run})"

    @property
    def entry(self) -> str:
        """Its id in the ledger of a data set; a part has one of its own."""
        return self.run if self.part == "run" else f"{int(self.run, 16) ^ 1:032x}"

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        price = self.price
        if price.kind == "selection":
            # What a selection says of itself counts in sums, so it is worked out again.
            assert price.mean_trials is not None
            chosen = Selection(mean_trials=price.mean_trials, score_share=0.5)
            if chosen.epsilon(price.mu, price.delta) > price.epsilon:
                raise ValueError("an earlier selection promises more than its trials allow")
        if not price.cost.covered_by(self.epsilon, self.delta):
            raise ValueError("an earlier run promises more than its price allows")
        return self


class Carried(_Frozen):
    """Earlier runs; ``fault`` says why one of them is not private, and then nothing that carries it is."""

    runs: tuple[RunCost, ...] = ()
    fault: str | None = Field(default=None, min_length=1)

    @classmethod
    def together(cls, carried: Iterable[Carried | None]) -> Carried:
        """All of them, each run once: a whole run covers what its catalogue cost."""
        known = [one for one in carried if one is not None]
        runs: dict[str, RunCost] = {}
        for run in (run for one in known for run in one.runs):
            if run.run not in runs or runs[run.run].part == "catalogue":
                runs[run.run] = run
        return cls(
            runs=tuple(runs.values()),
            fault=next((one.fault for one in known if one.fault is not None), None),
        )


class EarlierRuns(_Frozen):
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
        What all of them may cost; ``None`` where no cap was set.
    head
        Hash of the ledger's record by which this run was entered: with it, ``discreet ledger verify --head`` finds a
        ledger that was set back and has forgotten this run or one before it.
    """

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
