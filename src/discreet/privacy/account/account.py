"""What a ledger says: its runs, what each of them counts as, and what they cost together.

Proof note: ``privacy/proofs/ledger.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from discreet.errors import LedgerInvalid
from discreet.privacy.account.records import Cap, Charged, End, Open, Record, RefusedRun, Resume
from discreet.privacy.account.store import Chain
from discreet.privacy.budget import Budget
from discreet.privacy.costs import Cost, RunCost, shared_delta

__all__ = ["Account", "Run", "State"]

State: TypeAlias = Literal["asked", "running", "ended", "failed", "stopped", "refused"]


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
    """All runs of a ledger, and its cap.

    Parameters
    ----------
    name
        Of the data set.
    head
        Hash of the last record; empty where there is no chain.
    runs
        By their id, in the order they began.
    cap
        What all of them together may cost, if anything was said.
    relation
        Between data sets that must be hard to tell apart.
    """

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
