"""What a ledger writes down, one record a line, and what its records come to: runs, and what they cost together.

Nothing in a record follows from the ratings. Proof note: ``privacy/proofs/ledger.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Literal, Self, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from discreet.errors import BudgetInvalid, LedgerInvalid
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Cost, Price, RunCost, budget_for, shared_delta
from discreet.privacy.promise import Frozen, RunId, TrustModel

if TYPE_CHECKING:
    from discreet.privacy.account.store import Chain

__all__ = [
    "Account",
    "Begin",
    "Cap",
    "Charged",
    "End",
    "Open",
    "Plan",
    "Record",
    "RefusedRun",
    "Resume",
    "Run",
    "State",
    "read_record",
]

_Text = Annotated[str, Field(min_length=1, max_length=500)]
_Positive = Annotated[float, Field(gt=0)]
_MOST_RUNS = 1_000_000
# Room for the rounding of every run's own conversion and of their sum.
_SLACK = 1e-11

State: TypeAlias = Literal["asked", "running", "ended", "failed", "stopped", "refused"]


class Begin(Frozen):
    """The first record: which data this is about."""

    kind: Literal["ledger"] = "ledger"
    format: Literal[1] = 1
    ledger: RunId
    name: _Text
    relation: Literal["add or remove one user"] = "add or remove one user"
    when: _Text


class Cap(Frozen):
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


class _Asked(Frozen):
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


class Resume(Frozen):
    """A run that goes on after a stop (a silo's)."""

    kind: Literal["resume"] = "resume"
    run: RunId


class Charged(Frozen):
    """A charge, written before its noise is drawn. It has no time: how long something took is nobody's business."""

    kind: Literal["charge"] = "charge"
    run: RunId
    name: _Text
    price: Price


class End(Frozen):
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


@dataclass(frozen=True)
class Run:
    """One run, as far as it is entered."""

    asked: Open | RefusedRun
    state: State
    charges: tuple[Charged, ...] = ()

    @property
    def charged(self) -> Cost:
        """What its charges cost together."""
        together = Cost.together(charge.price.cost for charge in self.charges)
        # The pure releases of one run count as one mechanism.
        return replace(together, pure=(math.fsum(together.pure),) if together.pure else ())

    @property
    def cost(self) -> Cost:
        """What it counts as: from its first charge on its whole budget; once it is over, what it has charged.

        It stays with the whole budget where its schedule was not public. A run that is only asked for is looked at as
        if it had charged.
        """
        if isinstance(self.asked, RefusedRun) or not (self.charges or self.state == "asked"):
            return Cost()
        charged = self.charged
        if self.state in ("asked", "running") or self.asked.adaptive:
            return _at_least(self.asked.reserved.cost, charged)
        return charged

    @property
    def epsilon(self) -> float:
        """What it cost by itself, at its own delta."""
        return self.cost.epsilon(self.asked.delta)


@dataclass(frozen=True)
class Account:
    """All runs of a ledger by their id, in the order they began, and its cap; ``head``: hash of the last record."""

    name: str
    head: str
    runs: dict[str, Run] = field(default_factory=dict)
    cap: Budget | None = None
    relation: str = "add or remove one user"

    @classmethod
    def from_chain(cls, chain: Chain) -> Account:
        """What the records come to."""
        empty = cls(chain.begin.name, chain.head, relation=chain.begin.relation)
        return empty.with_records(chain.records)

    def with_records(self, records: Sequence[Record]) -> Account:
        """The same after further records."""
        runs, cap = dict(self.runs), self.cap
        for number, record in enumerate(records, 1):
            if isinstance(record, Cap):
                cap = None if record.epsilon is None else Budget(record.epsilon, record.delta or 0.0)
            elif isinstance(record, RefusedRun):
                runs[f"refused in line {number}"] = Run(record, "refused")
            else:
                _enter(runs, record, number)
        return replace(self, runs=runs, cap=cap)

    def knows(self, carried: RunCost) -> bool:
        """Whether a run that a model carries is entered here: by its id, or as a silo's part in it."""
        if carried.run in self.runs or carried.entry in self.runs:
            return True
        return any(
            run.asked.trust == "silos" and run.asked.model == carried.run for run in self.runs.values()
        )

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups that were declared disjoint."""
        named = (run.asked.group for run in self.runs.values() if run.state != "refused")
        return tuple(dict.fromkeys(group for group in named if group is not None))

    def cost(self, group: str | None = None) -> Cost:
        """What a user of a group pays for all runs; without a group, for those about everybody."""
        return Cost.together(
            run.cost for run in self.runs.values() if run.asked.group is None or run.asked.group == group
        )

    @property
    def undivided(self) -> Cost:
        """What a user would pay who is in all groups."""
        return Cost.together(run.cost for run in self.runs.values())

    @property
    def delta(self) -> float:
        """The delta to speak of: the cap's, or else the largest of the runs', or their sum where that is used up."""
        if self.cap is not None:
            return self.cap.delta
        deltas = (run.asked.delta for run in self.runs.values() if not run.cost.nothing)
        return shared_delta(deltas, max(cost.delta for cost in self._groups()))

    def epsilon(self, delta: float) -> float:
        """What anybody pays at most: the largest over groups."""
        return max(cost.epsilon(delta) for cost in self._groups())

    @property
    def mu(self) -> float | None:
        """The same as a Gaussian cost; ``None`` where something was selected."""
        mus = [cost.gaussian_mu for cost in self._groups()]
        return None if any(mu is None for mu in mus) else max(mu for mu in mus if mu is not None)

    def with_run(self, asked: Open) -> Account:
        """The same, if this run went on and charged something."""
        known = self.runs.get(asked.run)
        entered = Run(asked, "asked", () if known is None else known.charges)
        return replace(self, runs={**self.runs, asked.run: entered})

    @property
    def within_cap(self) -> bool:
        """Whether nobody pays more than the cap."""
        cap = self.cap
        return cap is None or all(cost.within(cap) for cost in self._groups())

    def without(self, run: str) -> Account:
        """The same, as it was without a run."""
        return replace(self, runs={key: known for key, known in self.runs.items() if key != run})

    def _groups(self) -> list[Cost]:
        return [self.cost(group) for group in (*self.groups, None)]


@dataclass(frozen=True)
class Plan:
    """A number of further runs of one budget, whose releases are Gaussian, after those of a ledger (``spent``)."""

    spent: Cost
    budget: Budget
    runs: int

    @property
    def together(self) -> Cost:
        """What the further runs cost by themselves."""
        return _gaussian(self.budget.mu, self.runs)

    @property
    def after(self) -> Cost:
        """What they cost with all before them."""
        return Cost.together([self.spent, self.together])

    def epsilon_each(self, cap: Budget, runs: int) -> float:
        """Largest epsilon at the planned delta that ``runs`` further runs may each have; 0 where there is no room."""
        high = cap.mu
        if not self.spent.within(cap):
            return 0.0
        low = 0.0
        for _ in range(60):
            middle = (low + high) / 2.0
            fits = Cost.together([self.spent, _gaussian(middle, runs)]).within(cap)
            low, high = (middle, high) if fits else (low, middle)
        try:
            return budget_for(low * (1.0 - _SLACK), self.budget.delta).epsilon if low > 0.0 else 0.0
        except BudgetInvalid:
            return 0.0

    def runs_that_fit(self, cap: Budget) -> int:
        """How many further runs of the planned budget the cap has room for, up to a million."""
        low, high = 0, _MOST_RUNS
        while low < high:
            middle = (low + high + 1) // 2
            fits = Cost.together([self.spent, _gaussian(self.budget.mu, middle)]).within(cap)
            low, high = (middle, high) if fits else (low, middle - 1)
        return low


def _gaussian(mu: float, runs: int) -> Cost:
    return Cost(mu=mu * math.sqrt(runs))


def _at_least(reserved: Cost, charged: Cost) -> Cost:
    """One run's reservation, or what it charged where that is more."""
    return Cost(
        max(reserved.mu, charged.mu),
        max(reserved.delta, charged.delta),
        max(reserved.pure, charged.pure),
        tuple(dict.fromkeys((*reserved.selections, *charged.selections))),
    )


def _enter(runs: dict[str, Run], record: Record, number: int) -> None:
    if isinstance(record, Open):
        if record.run in runs:
            raise LedgerInvalid(f"line {number} of the ledger begins a run that had begun before")
        runs[record.run] = Run(record, "running")
    elif isinstance(record, Resume | Charged | End):
        known = runs.get(record.run)
        if known is None or (isinstance(record, Charged | End) and known.state != "running"):
            raise LedgerInvalid(f"line {number} of the ledger is about a run that is not going on")
        if isinstance(record, Charged):
            runs[record.run] = replace(known, charges=(*known.charges, record))
        else:
            runs[record.run] = replace(known, state=record.state if isinstance(record, End) else "running")
