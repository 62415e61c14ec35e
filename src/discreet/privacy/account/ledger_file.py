"""The ledger of a data set: every run on it, what they come to, and what is left. Outlives the process."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from typing import TypeAlias

from pydantic import ValidationError

from discreet.errors import BudgetExceeded, BudgetInvalid, LedgerInvalid, SettingsInvalid
from discreet.privacy.account.account import Account
from discreet.privacy.account.costs import shared_delta
from discreet.privacy.account.earlier import EarlierRuns
from discreet.privacy.account.records import (
    Cap,
    Charged,
    End,
    Open,
    Price,
    Record,
    RefusedRun,
    Resume,
    TrustModel,
)
from discreet.privacy.account.run import LedgerRun, RunLock
from discreet.privacy.account.store import Chain, LedgerStore, Locked, now
from discreet.privacy.budget import Budget
from discreet.privacy.carried import Carried, RunCost
from discreet.privacy.statement_text import round_up

__all__ = ["AnyLedger", "LedgerFile", "open_run"]


class LedgerFile:
    """A file that knows what all runs on one data set have cost.

    Parameters
    ----------
    path
        One file for one data set: all ratings of the same people, this month's and last month's alike. Begun with the
        first run, or with the first cap. Its owner alone can read it. Keep it on a local disk, and never set it back.
    group
        For runs about some of the people alone: you declare that nobody is in two groups of this ledger. Runs without
        a group count for everybody.

    Notes
    -----
    **Privacy.** Unit: one user with all ratings. Relation: add or remove one user. A run reserves its budget before
    it starts; every charge is on the disk before its noise is drawn. Proof note: ``privacy/proofs/ledger.md``.

    Examples
    --------
    >>> import discreet, tempfile, pathlib
    >>> from discreet.data.synthetic import market
    >>> ratings, budget = market(1_200, 40, 12_000, rng=0), discreet.Budget(1.0, 1e-6)
    >>> ledger = discreet.LedgerFile(pathlib.Path(tempfile.mkdtemp()) / "market.ledger")
    >>> for month in range(3):
    ...     statement = discreet.ItemMean().fit(ratings, budget, ledger=ledger).statement_
    >>> statement.earlier.runs, round(statement.earlier.epsilon, 2)
    (2, 1.81)
    """

    def __init__(self, path: str | os.PathLike[str], *, group: str | None = None) -> None:
        self._file = LedgerStore(path)
        self.path, self.group = self._file.path, group

    def begin(
        self,
        budget: Budget | float,
        price: Price,
        *,
        method: str,
        adaptive: bool,
        model: str | None = None,
        trust: TrustModel = "central",
        run: str | None = None,
        carried: Carried | None = None,
    ) -> LedgerRun:
        """Enter a run and reserve what it may cost, if the cap has room for it.

        Parameters
        ----------
        budget
            The run's own: a Budget, or an epsilon where there is no delta.
        price
            What it reserves.
        method, model, trust
            What is trained, under which name, and where the ratings are.
        adaptive
            Whether costs of later releases may follow from earlier ones. Then it counts whole once it has charged.
        run
            Of a run that may be stopped and go on (a silo's, or one that is kept): its id. It goes on where it was.
        carried
            Runs that the model will carry (its start, its catalogue). Those that this ledger does not know are entered
            beside it, about everybody: their cost is there, and the cap counts it.

        Raises
        ------
        BudgetExceeded
            When there is no room. That is noted in the ledger.
        """
        epsilon, delta = (
            (budget.epsilon, budget.delta) if isinstance(budget, Budget) else (float(budget), 0.0)
        )
        try:
            asked = Open(
                when=now(),
                method=method,
                model=model,
                trust=trust,
                group=self.group,
                epsilon=epsilon,
                delta=delta,
                run=secrets.token_hex(16) if run is None else run,
                reserved=price,
                adaptive=adaptive,
            )
        except ValidationError as error:
            first = error.errors()[0]
            raise SettingsInvalid(
                f"the ledger cannot enter this run: {first['loc']}: {first['msg']}"
            ) from None
        carried = Carried() if carried is None else carried
        if carried.fault is not None:
            raise SettingsInvalid(f"the ledger cannot count what has no limit: {carried.fault}")
        self._file.create()
        with self._file.locked() as locked:
            return self._enter(locked, asked, carried.runs)

    def set_cap(self, cap: Budget | None) -> None:
        """Say what all runs together may cost from now on; ``None`` lifts the cap. Either is noted for good."""
        self._file.create()
        with self._file.locked() as locked:
            epsilon, delta = (None, None) if cap is None else (cap.epsilon, cap.delta)
            locked.append([Cap(epsilon=epsilon, delta=delta, when=now())])

    def account(self) -> Account:
        """All runs and what they come to, checked; runs whose process is gone are told from those that go on."""
        with self._file.reading() as chain:
            account = Account.from_chain(chain)
            gone: list[Record] = [
                End(run=run, state="cut short")
                for run in account.going_on()
                if not RunLock(self.path, run).held()
            ]
        return account.with_records(gone)

    def verify(self, head: str | None = None) -> Chain:
        """Check every line, and that a head kept elsewhere is among them.

        Raises
        ------
        LedgerInvalid
            When a line was damaged or edited, or the file was set back behind that head.
        """
        self._file.check()
        with self._file.reading() as chain:
            Account.from_chain(chain)
        if head is not None and head not in chain.hashes:
            raise LedgerInvalid(
                f"{self.path} was set back, cut or replaced: its lines are whole, but the head {head[:16]}... is none "
                "of theirs. Restore it from a backup; what it has forgotten was spent"
            )
        return chain

    def _enter(self, locked: Locked, asked: Open, carried: Sequence[RunCost]) -> LedgerRun:
        account = self._without_the_dead(locked, asked.run)
        known = account.runs.get(asked.run)
        if known is not None:
            if not isinstance(known.asked, Open) or _terms(known.asked) != _terms(asked):
                raise LedgerInvalid(f"{self.path} has this run with another budget, method or group")
            asked = known.asked
        held = RunLock(self.path, asked.run)
        if not held.take():
            raise SettingsInvalid(
                f"this run goes on in another process, as {self.path} knows; end that one first"
            )
        try:
            strange = [run for run in carried if not account.knows(run)]
            entries: list[Record] = [record for run in strange for record in _entered(run)]
            account = account.with_records(entries)
            if not account.has_room(asked.run, asked):
                self._refuse(locked, account, asked, strange)
            earlier = _earlier(account.without(asked.run), asked)
            if known is None:
                entries.append(asked)
            elif known.state != "running":
                entries.append(Resume(run=asked.run))
            if entries:
                locked.append(entries)
        except BaseException:
            held.give_back()
            raise
        head = locked.chain.head
        entered = frozenset(run.run for run in carried)
        return LedgerRun(self._file, asked, earlier.model_copy(update={"head": head}), held, head, entered)

    def _without_the_dead(self, locked: Locked, own: str) -> Account:
        """The account, after runs whose process is gone were entered as cut short: they can charge nothing more."""
        dead: list[Record] = []
        for run in Account.from_chain(locked.chain).going_on():
            held = RunLock(self.path, run)
            if run != own and held.take():
                dead.append(End(run=run, state="cut short"))
                held.give_back()
        if dead:
            locked.append(dead)
        return Account.from_chain(locked.chain)

    def _refuse(self, locked: Locked, account: Account, asked: Open, strange: Sequence[RunCost]) -> None:
        fields = asked.model_dump(exclude={"kind", "run", "reserved", "adaptive"})
        locked.append([RefusedRun(**fields)])
        assert account.cap is not None
        cap, waiting = account.cap, len(list(account.going_on()))
        spent = round_up(account.epsilon(cap.delta))
        total = round_up(account.with_run(asked.run, asked).epsilon(cap.delta))
        raise BudgetExceeded(
            f"the cap of {self.path} ({cap}) has no room for epsilon {asked.epsilon:g}, delta {asked.delta:g}: "
            f"epsilon {spent} is spent or reserved ({waiting} other runs go on){_counted(strange)}, and with this run "
            f"it would be {total}. No ratings were used. See 'discreet ledger plan' for an epsilon that fits, or "
            "raise the cap"
        )


AnyLedger: TypeAlias = LedgerFile | LedgerRun | str | os.PathLike[str]
"""A ledger as ``fit`` takes it: a file, its path, or a run that was entered already."""


def open_run(
    ledger: AnyLedger,
    budget: Budget,
    price: Price,
    *,
    method: str,
    adaptive: bool,
    run: str | None = None,
    carried: Carried | None = None,
) -> LedgerRun:
    """The run to charge: a new one, one that goes on (``run``), or one that was entered before ratings were read."""
    if not isinstance(ledger, LedgerRun):
        file = ledger if isinstance(ledger, LedgerFile) else LedgerFile(ledger)
        return file.begin(budget, price, method=method, adaptive=adaptive, run=run, carried=carried)
    asked = ledger.asked
    wanted = (budget.epsilon, budget.delta, price, adaptive)
    if (asked.epsilon, asked.delta, asked.reserved, asked.adaptive) != wanted or ledger.over:
        raise BudgetInvalid("the run in the ledger is over, or was entered for another budget than this one")
    if carried is not None and (carried.fault or not {one.run for one in carried.runs} <= ledger.carried):
        raise BudgetInvalid(
            "the run in the ledger was entered without the earlier runs that its model carries"
        )
    return ledger


def _terms(asked: Open) -> dict[str, object]:
    return asked.model_dump(exclude={"when", "model"})


def _entered(run: RunCost) -> list[Record]:
    """A run that was made elsewhere, as a run of this ledger that is over; whom it was about is not known here."""
    asked = Open(
        when=now(),
        method=f"earlier {run.part}",
        model=run.name,
        epsilon=run.epsilon,
        delta=run.delta,
        run=run.entry,
        reserved=run.price,
        adaptive=False,
    )
    return [asked, Charged(run=run.entry, name=run.name, price=run.price), End(run=run.entry, state="ended")]


def _counted(strange: Sequence[RunCost]) -> str:
    named = ", ".join(f"{run.name} with epsilon {round_up(run.epsilon)}" for run in strange)
    return f", that of {named} included, which the new model carries" if strange else ""


def _earlier(account: Account, asked: Open) -> EarlierRuns:
    """What the statement of a run says of the runs before it."""
    group = asked.group
    counted = [
        run for run in account.runs.values() if run.asked.group in (None, group) and not run.cost.nothing
    ]
    before, together = account.cost(group), account.with_run(asked.run, asked).cost(group)
    # Not the cap's delta: where a model carries all of these runs, its statement gives their sum at this one.
    delta = shared_delta([asked.delta, *(run.asked.delta for run in counted)], together.delta)
    earlier = before.epsilon(delta)
    own = asked.epsilon if asked.delta == delta else 0.0
    cap = account.cap
    return EarlierRuns(
        ledger=account.name,
        group=group,
        runs=len(counted),
        earlier_epsilon=earlier,
        epsilon=max(earlier, own, together.epsilon(delta)),
        delta=delta,
        cap_epsilon=None if cap is None else cap.epsilon,
        cap_delta=None if cap is None else cap.delta,
        head=account.head,
    )
